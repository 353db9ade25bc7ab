"""A Citus cluster for tests: databases made and distributed once, emptied for each test.

They are made beside the one that is named, on the coordinator and on each of its workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from langledger.database import Database
from langledger.database.connection import connect
from langledger.database.distribute import distribute
from langledger.database.migrate import load_migrations

_SHARDS = 4


@contextmanager
def new_database(dsn: str, *, distributed: bool = True) -> Iterator[str]:
    """Make a database on every node, and drop it in the end; its tables are distributed."""
    with connect(dsn) as connection:
        nodes = connection.execute(
            "SELECT nodename, nodeport, groupid = 0 AS coordinator FROM pg_dist_node"
        ).fetchall()
    host, port = (conninfo_to_dict(dsn).get(part) for part in ("host", "port"))
    workers = [
        make_conninfo(dsn, host=node["nodename"], port=node["nodeport"])
        for node in nodes
        if not node["coordinator"]
    ]
    name = f"langledger_{uuid4().hex[:16]}"
    here = make_conninfo(dsn, dbname=name)
    try:
        for node in (dsn, *workers):
            _execute(node, SQL("CREATE DATABASE {}").format(Identifier(name)))
            _execute(make_conninfo(node, dbname=name), SQL("CREATE EXTENSION citus"))
        with connect(here) as connection:
            connection.execute("SELECT citus_set_coordinator_host(%s, %s::int)", [host, port])
            for worker in map(conninfo_to_dict, workers):
                connection.execute(
                    "SELECT citus_add_node(%s, %s::int)", [worker["host"], worker["port"]]
                )
        Database(here).setup()
        if distributed:
            distribute(here, shards=_SHARDS)
        yield here
    finally:
        for node in (dsn, *workers):
            _execute(node, SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))


def empty(dsn: str) -> str:
    """Remove every row of every tenant, and what tests say of migrations; return the DSN."""
    with connect(dsn) as connection:
        rows = connection.execute(
            "SELECT relname AS name FROM pg_dist_partition JOIN pg_class ON oid = logicalrelid "
            "WHERE relnamespace = 'langledger'::regnamespace"
        ).fetchall()
        names = [Identifier("langledger", row["name"]) for row in rows]
        connection.execute(SQL("TRUNCATE {}").format(SQL(", ").join(names)))
        # As tests of other releases may have left it.
        connection.execute("TRUNCATE langledger.migration")
        for known in load_migrations():
            connection.execute(
                "INSERT INTO langledger.migration (version, name, sha256) VALUES (%s, %s, %s)",
                [known.version, known.name, known.sha256],
            )
    return dsn


def _execute(dsn: str, statement: object) -> None:
    with connect(dsn) as connection:
        connection.execute(statement)  # pyright: ignore[reportArgumentType]
