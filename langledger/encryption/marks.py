"""What a feature says of a statement's parameters, for whoever sends it to encrypt.

A mark stands in place of the value. Without encryption the value itself is sent.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import ormsgpack
from psycopg.types.json import Jsonb

from langledger.encryption.places import Place
from langledger.encryption.vault import Vault
from langledger.errors import ConfigurationError

__all__ = [
    "SEALED",
    "TEXT",
    "Content",
    "Hashed",
    "InClear",
    "Later",
    "Many",
    "Named",
    "Spell",
    "Spelled",
    "contents",
    "finds_by_hash",
    "keys_of",
    "named",
    "resolved",
    "says_something",
    "stays",
    "untold",
]

TEXT = "\x1alangledger:"
"""Begins a ciphertext in a column of text, or in JSON."""
SEALED = "$sealed"
"""Name of the one value of a JSON object that is encrypted whole."""

_SIGN = TEXT[0]
"""Text in clear that begins with it is stored with one more, and never taken for a ciphertext."""

Spell: TypeAlias = Callable[[str], str]
_ALIASES = {"thread_key": ("thread_key", "space"), "digest": ("digest", "id")}


class Many(list[Any]):
    """A parameter that is an array, whose members are marks or None."""


@dataclass(frozen=True, slots=True)
class Content:
    """A value that says something.

    Attributes:
        place: The column it is for.
        value: Bytes, text, JSON (as ``Jsonb``, or as its text where the place says so) or None.
        keys: What the row is found by, as far as no parameter of the statement says it.
        found_by: Of JSON that is searched: what of it is searched for, spelled as given.
    """

    place: Place
    value: Any
    keys: Mapping[str, Any] = field(default_factory=dict[str, Any])
    found_by: Callable[[Spell], Mapping[str, Any]] | None = None

    def __len__(self) -> int:
        return len(self.value)

    def resolve(self, vault: Vault | None, params: Mapping[str, Any]) -> Any:
        """Return the ciphertext in the form of the column."""
        if vault is None or self.value is None:
            return _in_clear(self.value)
        own = {name: _resolved(key, vault, params) for name, key in self.keys.items()}
        keys = [_resolved(key, vault, params) for key in keys_of(self.place, own, params)]
        if isinstance(self.value, Jsonb):
            return Jsonb(self._json(vault, keys, params, self.value.obj))
        if self.place.document:
            return json.dumps(self._json(vault, keys, params, json.loads(self.value)))
        content = self._packed(params)
        cell = vault.seal(self.place.number, keys, content)
        return cell if isinstance(self.value, bytes) else _as_text(cell)

    def _packed(self, params: Mapping[str, Any]) -> bytes:
        """Return the content, with what of the row's columns it gives back."""
        if not self.place.carries:
            return self.value if isinstance(self.value, bytes) else self.value.encode()
        return ormsgpack.packb([self.value, *self._carried(params)])

    def _carried(self, params: Mapping[str, Any]) -> list[Any]:
        given = {**params, **self.keys}
        return [getattr(given[name], "value", given[name]) for name in self.place.carries]

    def _json(
        self, vault: Vault, keys: list[Any], params: Mapping[str, Any], value: Mapping[str, Any]
    ) -> dict[str, Any]:
        place = self.place

        def cell(name: str, item: Any) -> str:
            content = json.dumps(item, ensure_ascii=False).encode()
            return _as_text(vault.seal(place.number, [*keys, name], content))

        if not place.merged:
            return {
                **(self.found_by(vault.spell) if self.found_by else {}),
                SEALED: cell("", [value, *self._carried(params)] if place.carries else value),
            }
        return {
            name: _told(item) if stays(place, name, item) else cell(name, item)
            for name, item in value.items()
        }


@dataclass(frozen=True, slots=True)
class Named:
    """A digest of content: what is stored must not tell anybody who guesses the content."""

    value: bytes

    def resolve(self, vault: Vault | None, params: Mapping[str, Any]) -> bytes:  # noqa: ARG002 - as every mark
        """Return the keyed hash of the digest."""
        return self.value if vault is None else vault.name(self.value)


@dataclass(frozen=True, slots=True)
class Spelled:
    """A text that is searched for as a whole."""

    value: str

    def resolve(self, vault: Vault | None, params: Mapping[str, Any]) -> str:  # noqa: ARG002 - as every mark
        """Return the keyed hash of the text."""
        return self.value if vault is None else vault.spell(self.value)


@dataclass(frozen=True, slots=True)
class Hashed:
    """A value that is found again by its digest, which is stored in its place.

    Attributes:
        value: What is stored without encryption.
        digest: Tells it from all others.
        form: Makes of the keyed hash, 16 bytes, what the column takes.
    """

    value: Any
    digest: bytes
    form: Callable[[bytes], Any]

    def resolve(self, vault: Vault | None, params: Mapping[str, Any]) -> Any:  # noqa: ARG002 - as every mark
        """Return the keyed hash; the value, where nothing is hashed."""
        if vault is None or not vault.keyed:
            return self.value
        return self.form(vault.name(self.digest))


@dataclass(frozen=True, slots=True)
class Later:
    """A parameter that is made when it is known how to encrypt.

    Attributes:
        make: Makes it.
        writes: It holds content that is to be stored.
    """

    make: Callable[[Vault | None], Any]
    writes: bool = False

    def resolve(self, vault: Vault | None, params: Mapping[str, Any]) -> Any:  # noqa: ARG002 - as every mark
        """Make it."""
        return self.make(vault)


@dataclass(frozen=True, slots=True)
class InClear:
    """A parameter of a statement that works on content in the database."""

    value: Any
    refusal: str

    def resolve(self, vault: Vault | None, params: Mapping[str, Any]) -> Any:  # noqa: ARG002 - as every mark
        """Return the value.

        Raises:
            ConfigurationError: The content is encrypted.
        """
        if vault is not None:
            raise ConfigurationError(self.refusal)
        return self.value


def contents(place: Place, values: Iterable[Any], **keys: Iterable[Any]) -> Many:
    """Return the marks of an array of values; ``keys`` are arrays beside it."""
    columns = [dict(zip(keys, row, strict=True)) for row in zip(*keys.values(), strict=True)]
    return Many(
        None if value is None else Content(place, value, own)
        for value, own in zip(values, columns, strict=True)
    )


def named(digests: Iterable[bytes]) -> Many:
    """Return the marks of an array of digests."""
    return Many(map(Named, digests))


def resolved(params: Mapping[str, Any], vault: Vault | None) -> Mapping[str, Any]:
    """Return the parameters that are sent."""
    if _MARKS.isdisjoint(map(type, params.values())):
        return params
    return {name: _resolved(value, vault, params) for name, value in params.items()}


def says_something(params: Mapping[str, Any]) -> bool:
    """Tell whether parameters hold content that is to be stored."""
    return any(
        any(map(_is_written, value)) if isinstance(value, Many) else _is_written(value)
        for value in params.values()
    )


def _is_written(value: Any) -> bool:
    return isinstance(value, Content) or (isinstance(value, Later) and value.writes)


def finds_by_hash(params: Mapping[str, Any]) -> bool:
    """Tell whether parameters hold what would find nothing in an encrypted tenant.

    That is what is hashed there, or compared with what is in clear.
    """
    return any(
        isinstance(value, (*_FOUND, Later, InClear))
        or (isinstance(value, Many) and any(isinstance(one, _FOUND) for one in value))
        for value in params.values()
    )


def keys_of(place: Place, row: Mapping[str, Any], params: Mapping[str, Any]) -> list[Any]:
    """Return what a row of a place is found by, from its columns or its statement's parameters.

    Raises:
        KeyError: Neither says one of them.
    """
    found: list[Any] = []
    for name in place.keys:
        for source in (row, params):
            alias = next((a for a in _ALIASES.get(name, (name,)) if a in source), None)
            if alias is not None:
                found.append(source[alias] if source[alias] is not None else "")
                break
        else:
            raise KeyError(name)
    return found


def _resolved(value: Any, vault: Vault | None, params: Mapping[str, Any]) -> Any:
    if type(value) not in _MARKS:  # most are none
        return value
    if isinstance(value, Many):
        return [_resolved(member, vault, params) for member in value]
    return value.resolve(vault, params)


_FOUND = (Named, Spelled, Hashed)
_MARKS = frozenset((Many, Content, *_FOUND, Later, InClear))


def stays(place: Place, name: str, item: Any) -> bool:
    """Tell whether a value of a merged object is never encrypted."""
    if name in place.clear or item is None or item in ("", [], {}):
        return True
    return place.numbers and isinstance(item, (bool, int, float))


def _in_clear(value: Any) -> Any:
    if not isinstance(value, Jsonb):
        return _told(value)
    items = cast("dict[str, Any]", value.obj)
    return Jsonb({name: _told(item) for name, item in items.items()})


def _told(value: Any) -> Any:
    """Tell a text in clear from a ciphertext, whatever it says; :func:`untold` takes that back."""
    return _SIGN + value if isinstance(value, str) and value.startswith(_SIGN) else value


def untold(value: Any) -> Any:
    """Return content in clear as it was given."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        return {name: _untold(item) for name, item in items.items()}
    return _untold(value)


def _untold(value: Any) -> Any:
    return value[1:] if isinstance(value, str) and value.startswith(2 * _SIGN) else value


def _as_text(cell: bytes) -> str:
    return TEXT + base64.b64encode(cell).decode()
