"""A Citus cluster for tests: one database, its tables distributed once, emptied for each test."""

from __future__ import annotations

from psycopg.sql import SQL, Identifier

from langledger.database import Database
from langledger.database.connection import connect
from langledger.database.distribute import distribute

_SHARDS = 4


def prepare(dsn: str) -> None:
    """Make the schema anew and distribute it."""
    with connect(dsn) as connection:
        connection.execute("DROP SCHEMA IF EXISTS langledger CASCADE")
    Database(dsn).setup()
    distribute(dsn, shards=_SHARDS)


def empty(dsn: str) -> None:
    """Remove every row of every tenant."""
    with connect(dsn) as connection:
        rows = connection.execute(
            "SELECT relname AS name FROM pg_dist_partition JOIN pg_class ON oid = logicalrelid "
            "WHERE relnamespace = 'langledger'::regnamespace"
        ).fetchall()
        names = [Identifier("langledger", row["name"]) for row in rows]
        connection.execute(SQL("TRUNCATE {}").format(SQL(", ").join(names)))
