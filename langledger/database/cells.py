"""Batches on their way to the database, and rows on their way back."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import ormsgpack
from psycopg.sql import Composed

from langledger.encryption.marks import SEALED, TEXT, keys_of, resolved, stays, untold
from langledger.encryption.places import COLUMNS, PLACES, Place
from langledger.encryption.vault import MARK, Vault, no_keys, place_of
from langledger.errors import ConfigurationError, EncryptionError

if TYPE_CHECKING:
    from langledger.operations import Batch, Row

__all__ = ["in_clear", "opened", "readable", "sealed"]

_TABLE = re.compile(r"\{+schema\}+\.\"?(\w+)")
# What these hold is searched or joined in the database, by more than whole names.
_UNCOVERED = re.compile(r"INSERT INTO \{+schema\}+\.((?:repository|recall_vector)\w*)")
_WHAT = {"rep": "repository memory", "rec": "vectors"}


def in_clear(batch: Batch) -> Batch:
    """Return a batch without its marks."""
    return replace(
        batch,
        queries=[replace(query, params=resolved(query.params, None)) for query in batch.queries],
    )


def sealed(batch: Batch, vault: Vault) -> Batch:
    """Return a batch whose content is encrypted.

    Raises:
        ConfigurationError: A statement writes, or works on, content that cannot be encrypted.
    """
    for query in batch.queries:
        _refuse_uncovered(query.sql)
    return replace(
        batch,
        queries=[replace(query, params=resolved(query.params, vault)) for query in batch.queries],
    )


def readable(results: list[list[Row]]) -> list[list[Row]]:
    """Return rows as they are, where nothing in them is encrypted.

    Raises:
        EncryptionError: Something is, and no keys were given.
    """
    for rows in results:
        for column in _columns(rows):
            for row in rows:
                for cell in _cells(row[column]):
                    raise no_keys(cell)
                row[column] = untold(row[column])
    return results


def opened(batch: Batch, results: list[list[Row]], vault: Vault) -> list[list[Row]]:
    """Decrypt what is encrypted in rows, in place; what is in clear stays, where it may.

    Raises:
        EncryptionError: A key is not given, a ciphertext was changed or moved, or content is in
            clear in a tenant that is encrypted.
    """
    for query, rows in zip(batch.queries, results, strict=True):
        if query.reads is not None:
            for row in rows:
                query.reads(row, query.params, vault)
        columns = _columns(rows)
        if columns and vault.strict:
            _refuse_clear(query.sql, columns, rows, vault)
        for row in rows:
            before = dict(row) if columns else row
            for column in columns:
                _open(row, column, before, query.params, vault)
    return results


def _refuse_clear(
    sql: str | Composed, columns: Sequence[str], rows: Sequence[Row], vault: Vault
) -> None:
    """Refuse rows with content in clear: the tables that a statement names tell what is content."""
    tables = _tables(sql.as_string(None) if isinstance(sql, Composed) else sql)
    for column in columns:
        places = [p for p in PLACES.values() if p.column == column and p.table in tables]
        for row in rows if places else ():
            if not any(_is_sealed(place, row[column]) for place in places):
                vault.refuse_clear()


def _is_sealed(place: Place, value: Any) -> bool:
    if isinstance(value, bytes):
        return value.startswith(MARK)
    if isinstance(value, str):
        return value.startswith(TEXT)
    if not isinstance(value, dict):
        return value is None
    items = cast("dict[str, Any]", value)
    if not place.merged:
        return str(items.get(SEALED)).startswith(TEXT)
    return all(
        stays(place, name, item) or str(item).startswith(TEXT) for name, item in items.items()
    )


def _open(row: Row, column: str, before: Row, params: Mapping[str, Any], vault: Vault) -> None:
    value = row[column]
    if isinstance(value, dict):
        _open_object(row, column, before, params, vault)
    elif cells := list(_cells(value)):
        place, content = _content(cells[0], before, params, vault)
        if place.carries:
            content, *carried = ormsgpack.unpackb(content)
            _give_back(row, place, carried)
            row[column] = content
        else:
            row[column] = content if isinstance(value, bytes) else content.decode()
    else:
        row[column] = untold(value)


def _give_back(row: Row, place: Place, carried: Sequence[Any]) -> None:
    """Put what columns hold hashes of in their place."""
    for name, was in zip(place.carries, carried, strict=True):
        alias = name if name in row else "id" if name == "digest" and "id" in row else None
        if alias is not None:
            row[alias] = was


def _open_object(
    row: Row, column: str, before: Row, params: Mapping[str, Any], vault: Vault
) -> None:
    value: dict[str, Any] = row[column]
    whole = value.get(SEALED)
    if not isinstance(whole, str) or not whole.startswith(TEXT):
        row[column] = _merged(value, before, params, vault)
        return
    place, content = _content(_cell(whole), before, params, vault, "")
    opened = json.loads(content)
    if place.carries:
        opened, *carried = opened
        _give_back(row, place, carried)
    row[column] = opened | {name: value[name] for name in place.clear & value.keys()}


def _merged(
    value: dict[str, Any], row: Row, params: Mapping[str, Any], vault: Vault
) -> dict[str, Any]:
    opened = {
        name: json.loads(_content(_cell(item), row, params, vault, name)[1])
        for name, item in value.items()
        if isinstance(item, str) and item.startswith(TEXT)
    }
    return {**untold(value), **opened}


def _content(
    cell: bytes, row: Row, params: Mapping[str, Any], vault: Vault, *more: str
) -> tuple[Place, Any]:
    try:
        place = PLACES[place_of(cell)]
        keys = [*keys_of(place, row, params), *more]
    except (KeyError, IndexError):
        raise EncryptionError(
            f"a ciphertext of tenant {vault.tenant!r} stands where none of its kind belongs: "
            "restore the row from a backup"
        ) from None
    return place, vault.open(place.number, keys, cell)


def _columns(rows: Sequence[Row]) -> list[str]:
    return [name for name in rows[0] if name in COLUMNS] if rows else []


def _cells(value: Any) -> Sequence[bytes]:
    """Return the ciphertexts of a value."""
    if isinstance(value, bytes):
        return [value] if value.startswith(MARK) else ()
    if isinstance(value, str):
        return [_cell(value)] if value.startswith(TEXT) else ()
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).values()
        return [_cell(item) for item in items if isinstance(item, str) and item.startswith(TEXT)]
    return ()


def _cell(text: str) -> bytes:
    try:
        return base64.b64decode(text[len(TEXT) :])
    except ValueError:
        raise EncryptionError("a ciphertext was changed: restore the row from a backup") from None


def _refuse_uncovered(sql: str | Composed) -> None:
    table = None if isinstance(sql, Composed) else _uncovered(sql)
    if table is not None:
        raise ConfigurationError(
            f"{_WHAT[table[:3]]} cannot be encrypted, and this ledger encrypts: use a ledger of "
            "another tenant for that, without encryption"
        )


@lru_cache(maxsize=1024)
def _tables(sql: str) -> frozenset[str]:
    return frozenset(_TABLE.findall(sql))


@lru_cache(maxsize=1024)
def _uncovered(sql: str) -> str | None:
    found = _UNCOVERED.search(sql)
    return None if found is None else found[1]
