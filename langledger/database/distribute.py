"""Spreads the tables over the nodes of a Citus cluster, a tenant on one of them.

Every key begins with the tenant, and every statement names it, so that Citus can send each
to the one shard that holds it. Tables are colocated: all that is a tenant's is on one node,
where foreign keys hold and joins stay local. Functions run there, too, in one round trip.

Each step is a transaction of its own and leaves out what is done: :func:`distribute` that was
interrupted goes on when it is called again, and calls at the same time take turns.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

import psycopg
from psycopg.sql import SQL, Composed, Identifier

from langledger.arguments import check_whole
from langledger.database import connection as connections
from langledger.database.failures import translated
from langledger.database.migrate import status
from langledger.database.partitions import partitions_of
from langledger.database.queries import Renderer, load_queries
from langledger.errors import DatabaseError, NotSetUpError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Row

__all__ = ["Distribution", "distribute"]

_LOCK = 0x6C616E67_63697475  # "langcitu"
_SHARDS = 32
_queries = load_queries("langledger.database", "distribute.sql")

# Citus runs no trigger of a distributed table. What this one does is done there by foreign keys:
# table, its columns, and the table whose rows take them along.
_TRIGGER = "recall_forget"
_IN_PLACE_OF_IT = (
    ("recall_unit", SQL("tenant, space, ref"), "entry"),
    ("recall_space", SQL("tenant, space"), "thread"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """What :func:`distribute` found and made.

    Attributes:
        nodes: That may hold shards.
        shards: Of each table.
        tables: All that are distributed, by name.
        functions: All that run where their tenant is, by name.
        made: How many tables and functions were not before this call.
    """

    nodes: int
    shards: int
    tables: tuple[str, ...]
    functions: tuple[str, ...]
    made: int


def distribute(dsn: str, *, schema: str = "langledger", shards: int = _SHARDS) -> Distribution:
    """Distribute the tables of a schema by tenant over the nodes of a Citus cluster.

    Nobody should write meanwhile: a table is locked while its rows move, and the foreign keys of
    the search index are checked against all rows.

    Args:
        dsn: Of the coordinator itself, where a pooler stands before it; a superuser's or that of
            the owner of the tables.
        schema: Holds the tables, up to date.
        shards: To split each table into, twice the most nodes there will be or more; what the
            first call said stays.

    Raises:
        ConfigurationError: ``shards`` is not a whole number from 1.
        NotSetUpError: Migrations are pending.
        DatabaseError: The database has no Citus, or is not the coordinator's.
        DatabaseUnavailableError: The server cannot be reached.
    """
    check_whole("shards", shards, least=1)
    if status(dsn, schema=schema).pending:
        raise NotSetUpError(
            f"schema {schema!r} is not up to date: run `langledger db upgrade` first"
        )
    with connections.connect(dsn) as connection, translated():
        cluster = _Cluster(connection, schema)
        nodes = cluster.check()
        cluster.pass_on_tenants()
        cluster.replace_triggers()
        made = cluster.tables(shards) + cluster.functions()
        cluster.let_searches_call()
        return Distribution(
            nodes=nodes,
            shards=cluster.shards(),
            tables=tuple(cluster.names("distributed")),
            functions=tuple(cluster.names("delegated")),
            made=made,
        )


class _Cluster:
    """The steps, on one connection to the coordinator."""

    def __init__(self, connection: psycopg.Connection[Row], schema: str) -> None:
        self._connection = connection
        self._schema = schema
        self._renderer = Renderer(schema)

    def check(self) -> int:
        """Return how many nodes may hold shards."""
        if partitions_of(self._connection, self._schema):
            raise DatabaseError(
                "these tables are made of partitions (`langledger db partition`), and Citus splits "
                "by tenant itself: load a dump of the data into a schema without partitions"
            )
        if not self._run("extension"):
            raise DatabaseError(
                "this database has no Citus: add citus to shared_preload_libraries on every node, "
                "run CREATE EXTENSION citus in the database of this name on each, and "
                "citus_add_node(...) here"
            )
        (node,) = self._run("node")
        if node["coordinator"] is False:
            raise DatabaseError("this is a worker of the cluster: give the coordinator's DSN")
        if node["nodes"] == 0:
            raise DatabaseError(
                "no node may hold shards: run SELECT citus_add_node('<host>', 5432) for each worker"
            )
        return int(node["nodes"])

    def pass_on_tenants(self) -> None:
        """Have SET LOCAL reach the workers, where row-level security asks for the tenant."""
        database = Identifier(self._connection.info.dbname)
        self._do("ALTER DATABASE {} SET citus.propagate_set_commands TO 'local'", database)

    def replace_triggers(self) -> None:
        """Let foreign keys do what triggers did."""
        for table, columns, parent in _IN_PLACE_OF_IT:
            with self._step():
                if self._run("foreign_key", table=table, parent=parent):
                    continue
                names = (self._table(table), columns, self._table(parent))
                self._do(
                    "ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} ON DELETE CASCADE", *names
                )
                self._do(
                    "DROP TRIGGER IF EXISTS {} ON {}", Identifier(_TRIGGER), self._table(parent)
                )

    def tables(self, shards: int) -> int:
        """Distribute those that are not, what is referred to before what refers to it."""
        made = 0
        while rows := self._run("next_table"):
            with self._step():
                if self._run("next_table") != rows:  # somebody else was here
                    continue
                name = rows[0]["name"]
                first = self._run("distributed")
                self._run(
                    "distribute_table",
                    table=name,
                    shards=None if first else shards,
                    colocated=first[0]["name"] if first else "none",
                )
                made += 1
        return made

    def functions(self) -> int:
        """Have those that take a tenant run on its node."""
        made = 0
        while rows := self._run("next_function"):
            with self._step():
                if self._run("next_function") == rows:
                    self._run("distribute_function", **rows[0])
                    made += 1
        return made

    def let_searches_call(self) -> None:
        """Let a search, on its shard, call the function that asks another table of that node."""
        with self._step():
            self._do(
                "ALTER FUNCTION {} SET citus.allow_nested_distributed_execution TO on",
                self._table("recall_nearest"),
            )

    def names(self, query: LiteralString) -> list[str]:
        return [row["name"].rpartition(".")[2] for row in self._run(query)]

    def shards(self) -> int:
        return int(self._run("shards")[0]["n"])

    @contextmanager
    def _step(self) -> Generator[None]:
        with self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            # What comes by foreign keys, one connection a node: they must see each other's work.
            self._connection.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
            yield

    def _run(self, name: LiteralString, **params: object) -> list[Row]:
        sql = self._renderer.render(_queries[name])
        cursor = self._connection.execute(sql, {"schema": self._schema, **params})
        return cursor.fetchall()

    def _do(self, sql: LiteralString, *parts: Identifier | SQL) -> None:
        statement: Composed = SQL(sql).format(*parts)
        self._connection.execute(statement)

    def _table(self, name: str) -> Identifier:
        return Identifier(self._schema, name)
