"""Makes the large tables of a schema of hash partitions by tenant.

Whatever is there moves in one transaction: the schema is put aside, made anew with partitions by
its own migrations, filled, and the old one dropped. So nothing is changed by hand that a migration
made, and a call that fails or is interrupted leaves all as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, LiteralString

import psycopg
from psycopg.sql import SQL, Composable, Identifier

from langledger.arguments import check_whole
from langledger.database import connection as connections
from langledger.database.failures import translated
from langledger.database.migrate import apply_missing, changing, load_migrations, status
from langledger.database.partitions import TABLES, partitions_of
from langledger.database.queries import load_queries
from langledger.errors import DatabaseError, NotSetUpError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Row

__all__ = ["Partitioned", "partition"]

_MOST = 1024
_queries = load_queries("langledger.database", "partition.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioned:
    """What :func:`partition` found and did.

    Attributes:
        tables: Those made of partitions, by name.
        partitions: Of each.
        moved: Rows that moved into the tables made anew; of all tables, large or not.
        made: Whether the tables were made now.
    """

    tables: tuple[str, ...]
    partitions: int
    moved: int
    made: bool


def partition(dsn: str, *, schema: str = "langledger", partitions: int) -> Partitioned:
    """Make the large tables of a schema of hash partitions by tenant; create the schema if need be.

    Who reads or writes meanwhile waits. It takes room for a second copy of all rows.

    Args:
        dsn: Of the owner of the schema, at the server itself where a pooler stands before it.
        schema: Holds the tables, up to date.
        partitions: To make each large table of, from 2 to 1024. They stay as many.

    Raises:
        ConfigurationError: ``partitions`` is out of range.
        NotSetUpError: Migrations are pending.
        DatabaseError: The schema has another number of partitions, or is distributed by Citus.
        MigrationError: It cannot be done; all is as it was before.
        DatabaseUnavailableError: The server cannot be reached.
    """
    check_whole("partitions", partitions, least=2, most=_MOST)
    found = status(dsn, schema=schema)
    if found.version and found.pending:
        raise NotSetUpError(
            f"schema {schema!r} is not up to date: run `langledger db upgrade` first"
        )
    with connections.connect(dsn) as connection, translated():
        made, moved = False, 0
        if not _is_done(connection, schema, partitions):
            with changing(), connection.transaction():
                made, moved = _make(connection, schema, partitions)
            for table in TABLES:  # autovacuum does so only once they grow again
                connection.execute(SQL("ANALYZE {}").format(Identifier(schema, table)))
    return Partitioned(tables=TABLES, partitions=partitions, moved=moved, made=made)


def _is_done(connection: psycopg.Connection[Row], schema: str, partitions: int) -> bool:
    there = partitions_of(connection, schema)
    if there and there != partitions:
        raise DatabaseError(
            f"the tables of schema {schema!r} have {there} partitions already, which stay as many: "
            "to have others, load a dump of the data into a schema made with these"
        )
    return there > 0


def _make(connection: psycopg.Connection[Row], schema: str, partitions: int) -> tuple[bool, int]:
    known = load_migrations()
    made = apply_missing(connection, schema, known, partitions=partitions)  # and takes the lock
    if made:
        return True, 0
    if _is_done(connection, schema, partitions):  # somebody else was here
        return False, 0
    move = _Move(connection, schema)
    move.check()
    move.put_aside()
    apply_missing(connection, schema, known, partitions=partitions)
    moved = move.copy()
    move.hand_over()
    move.drop()
    return True, moved


class _Move:
    """The steps, in one transaction."""

    def __init__(self, connection: psycopg.Connection[Row], schema: str) -> None:
        self._connection = connection
        self._schema = schema
        self._aside = f"{schema[:50]}_before"

    def check(self) -> None:
        """Refuse what must not be moved."""
        if self._run("has_citus") and self._run("distributed"):
            raise DatabaseError(
                "Citus distributes these tables, and splits them by tenant already: there is "
                "nothing left for partitions to do"
            )
        if self._run("extension"):
            raise DatabaseError(
                f"pgvector stands in schema {self._schema!r}, which is made anew: have an "
                "administrator run ALTER EXTENSION vector SET SCHEMA public first"
            )

    def put_aside(self) -> None:
        """Keep everybody else off the tables, and rename their schema."""
        rows = self._run("tables")
        self._forced = any(row["forced"] for row in rows)
        tables = [self._new(row["name"]) for row in rows]
        self._do("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", _joined(tables))
        for table in tables:  # their owner is to see all tenants' rows
            self._do("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY", table)
        self._do("ALTER SCHEMA {} RENAME TO {}", Identifier(self._schema), Identifier(self._aside))

    def copy(self) -> int:
        """Move the rows, what is referred to before what refers to it; return how many."""
        parents: dict[str, set[str]] = {row["name"]: set() for row in self._run("tables")}
        for row in self._run("parents"):
            parents[row["child"]].add(row["parent"])
        moved = 0
        for table in TopologicalSorter(parents).static_order():
            columns = _joined(Identifier(row["name"]) for row in self._run("columns", table=table))
            moved += self._do(
                "INSERT INTO {} ({}) SELECT {} FROM {}",
                self._new(table),
                columns,
                columns,
                self._old(table),
            )
        return moved

    def hand_over(self) -> None:
        """Give the tables made anew the indexes, rights and row-level security of the old ones."""
        for row in self._run("vector_indexes", aside=self._aside):
            self._do(
                "SELECT {}(tenant, model, dimensions) FROM {} WHERE {}",
                self._new("recall_build_index"),
                self._new("recall_model"),
                SQL(row["tenants"]),  # the condition of the index, as the server wrote it
            )
        for row in self._run("grants", aside=self._aside):
            self._connection.execute(row["statement"])
        if self._forced:
            self._do("SELECT {}(true)", self._new("secure_tables"))

    def drop(self) -> None:
        """Remove the old schema; an error where something else depends on it, or is in it."""
        for row in self._run("drops", aside=self._aside):
            self._connection.execute(row["statement"])
        self._do("DROP SCHEMA {}", Identifier(self._aside))

    def _new(self, name: str) -> Identifier:
        return Identifier(self._schema, name)

    def _old(self, name: str) -> Identifier:
        return Identifier(self._aside, name)

    def _run(self, name: LiteralString, **params: object) -> list[Row]:
        values = {"schema": self._schema, **params}
        return self._connection.execute(_queries[name], values).fetchall()

    def _do(self, sql: LiteralString, *parts: Composable) -> int:
        return self._connection.execute(SQL(sql).format(*parts)).rowcount


def _joined(names: Iterable[Composable]) -> Composable:
    return SQL(", ").join(names)
