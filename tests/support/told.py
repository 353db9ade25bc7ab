"""What a database tells: every value of every table, packed ones unpacked."""

from __future__ import annotations

from typing import Any

import zstandard
from psycopg.sql import SQL, Identifier

from langledger.database.connection import connect
from langledger.entries.codec import decompress

__all__ = ["tables", "told"]

_TABLES = """
SELECT c.relname AS name FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = %(column)s AND NOT a.attisdropped
WHERE n.nspname = 'langledger' AND c.relkind IN ('r', 'p') ORDER BY 1
"""


def tables(dsn: str, column: str = "tenant") -> set[str]:
    """Return the tables that have a column."""
    with connect(dsn) as connection:
        return {row["name"] for row in connection.execute(_TABLES, {"column": column})}


def told(dsn: str, word: str, *, tenant: str | None = None) -> list[str]:
    """Return the tables in which a word stands, packed values unpacked."""
    found: list[str] = []
    with connect(dsn) as connection:
        for name in sorted(tables(dsn)):
            statement = SQL("SELECT * FROM langledger.{} WHERE %(tenant)s IN (tenant, '')")
            rows = connection.execute(
                statement.format(Identifier(name)), {"tenant": tenant or ""}, binary=True
            )
            if any(word in _text(value) for row in rows for value in row.values()):
                found.append(name)
    return found


def _text(value: Any) -> str:
    return _unpacked(bytes(value)) if isinstance(value, (bytes, memoryview)) else str(value)


def _unpacked(data: bytes) -> str:
    for unpack in (lambda: decompress(data)[1], lambda: zstandard.decompress(data)):
        try:
            return unpack().decode("utf-8", "replace")
        except Exception:  # noqa: BLE001 - it is packed in another way, or not at all
            continue
    return data.decode("utf-8", "replace")
