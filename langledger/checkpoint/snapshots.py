"""What message objects hold, to recognise them without serialising them.

LangGraph keeps messages from step to step, so most of a long list is known already. They can be
changed in place, so an object is known only while its fields hold what they held.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias, cast

from langchain_core.messages import BaseMessage

from langledger.entries.twins import twin_of

__all__ = ["Handle", "Master", "Snapshot", "handle_of", "holds", "snapshot_of"]

_IMMUTABLE = frozenset({type(None), str, bool, int, float, bytes})
_NUMBERS = frozenset({bool, int, float})

# Id and text of a message: enough to look it up by, not to know it by.
Handle: TypeAlias = "tuple[str | None, str | None]"


class Snapshot(NamedTuple):
    """What a message's fields hold; containers in it are copies that nobody else has.

    Attributes:
        kind: The message's class.
        values: Of the declared fields.
        extra: The other fields.
        numbers: Types of the numbers among them: 1, 1.0 and True are equal, but not the same.
    """

    kind: type[BaseMessage]
    values: tuple[Any, ...]
    extra: Any
    numbers: tuple[type, ...]


def handle_of(message: BaseMessage) -> Handle:
    """Return by what to look a message up."""
    content = message.content
    return message.id, content if type(content) is str else None


def snapshot_of(message: BaseMessage) -> Snapshot | None:
    """Return what a message's fields hold; None if they hold what cannot be compared safely."""
    try:
        values = tuple(
            value if type(value) in _IMMUTABLE else _fresh(value)
            for value in message.__dict__.values()
        )
        extra = _fresh(message.__pydantic_extra__)
    except (TypeError, RecursionError):
        return None
    return Snapshot(type(message), values, extra, tuple(_numbers([*values, extra])))


def holds(message: BaseMessage, snapshot: Snapshot) -> bool:
    """Tell whether a message's fields hold what a snapshot says."""
    values = tuple(message.__dict__.values())
    extra = message.__pydantic_extra__
    if type(message) is not snapshot.kind or len(values) != len(snapshot.values):
        return False
    try:
        same = bool(values == snapshot.values and extra == snapshot.extra)
    except Exception:  # noqa: BLE001 - whatever a changed field's comparison raises, it has changed
        return False
    return same and (not snapshot.numbers or tuple(_numbers([*values, extra])) == snapshot.numbers)


class Master:
    """A message that is never given out, only copies of it."""

    __slots__ = ("_message", "_snapshot")

    def __init__(self, message: BaseMessage) -> None:
        self._message = message

    @property
    def snapshot(self) -> Snapshot | None:
        """What it holds; None if that cannot be compared. Most are never asked for."""
        try:
            return self._snapshot
        except AttributeError:
            self._snapshot = snapshot_of(self._message)
            return self._snapshot

    def handle(self) -> Handle:
        """Return by what to look it up."""
        return handle_of(self._message)

    def copy(self) -> BaseMessage:
        """Return a copy that shares nothing changeable."""
        try:
            twin = twin_of(self._message)
            fields = cast("dict[str, Any]", twin.__dict__)
            for name, value in fields.items():
                if type(value) not in _IMMUTABLE:
                    fields[name] = _fresh(value)
            if twin.__pydantic_extra__:
                object.__setattr__(twin, "__pydantic_extra__", _fresh(twin.__pydantic_extra__))
        except TypeError:  # it holds something else than JSON does
            return copy.deepcopy(self._message)
        return twin


def _fresh(value: Any) -> Any:
    kind = cast("type[object]", type(value))
    if kind in _IMMUTABLE:
        return value
    if kind is list:
        return [_fresh(item) for item in cast("list[Any]", value)] if value else []
    if kind is dict:
        return {k: _fresh(v) for k, v in cast("dict[Any, Any]", value).items()} if value else {}
    raise TypeError(f"{kind.__name__} is not of the kinds JSON knows")


def _numbers(values: Iterable[Any]) -> Iterator[type]:
    for value in values:
        kind = cast("type[object]", type(value))
        if kind in _NUMBERS:
            yield kind
        elif value and kind is list:
            yield from _numbers(cast("list[Any]", value))
        elif value and kind is dict:
            yield from _numbers(cast("dict[Any, Any]", value).values())
