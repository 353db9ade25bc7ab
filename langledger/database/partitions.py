"""Large tables made of hash partitions by tenant: which, how many, and their DDL.

A migration creates a table as it always does; where the schema is a partitioned one, the statement
is changed on its way, so that upgrades need to know nothing of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Row

__all__ = ["TABLES", "in_partitions", "partitions_of"]

TABLES = ("entry", "checkpoint", "recall_unit", "recall_vector")
"""Those that grow with every message; the others together are a small part of a database."""

_CREATE = re.compile(
    rf"^(CREATE TABLE ({'|'.join(TABLES)}) \(\n.*?^\))(?: WITH \([^)]*\))?;$",
    re.MULTILINE | re.DOTALL,
)
_COUNT = """
SELECT count(*) AS n
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = 'entry' AND c.relkind = 'p'
"""


def in_partitions(sql: str, count: int) -> str:
    """Return a migration's SQL with its large tables made of so many partitions; 0: as it is."""

    def create(match: re.Match[str]) -> str:
        parts = (
            f"CREATE TABLE {match[2]}_p{part} PARTITION OF {match[2]} "
            f"FOR VALUES WITH (MODULUS {count}, REMAINDER {part});"
            for part in range(count)
        )
        return "\n".join((f"{match[1]} PARTITION BY HASH (tenant);", *parts))

    return _CREATE.sub(create, sql) if count else sql


def partitions_of(connection: psycopg.Connection[Row], schema: str) -> int:
    """Return of how many partitions each large table of a schema is made; 0: of none."""
    return connection.execute(_COUNT, {"schema": schema}).fetchall()[0]["n"]
