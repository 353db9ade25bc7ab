"""Migrations on a real server: many at once, interrupted, refused."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg.conninfo import make_conninfo

from langledger.database import AsyncDatabase, Database
from langledger.database.connection import connect
from langledger.database.migrate import Migration, load_migrations, migrate, status
from langledger.errors import DatabaseUnavailableError, MigrationError, SchemaTooNewError


def migration(version: int, sql: str) -> Migration:
    digest = hashlib.sha256(sql.encode()).hexdigest()
    return Migration(version=version, name=f"step_{version}", sql=sql, sha256=digest)


FIRST = migration(1, "CREATE TABLE one (n int); INSERT INTO one VALUES (1);")
SECOND = migration(2, "ALTER TABLE one ADD COLUMN v vector(3);")


def count(dsn: str, what: str) -> int:
    with connect(dsn) as connection:
        return connection.execute(f"SELECT count(*) AS n FROM {what}").fetchone()["n"]


def test_what_is_missing_is_applied_in_order_and_only_once(empty_dsn: str) -> None:
    assert migrate(empty_dsn, migrations=[FIRST]) == [FIRST]
    assert migrate(empty_dsn, migrations=[FIRST, SECOND]) == [SECOND]
    assert migrate(empty_dsn, migrations=[FIRST, SECOND]) == []
    assert count(empty_dsn, "langledger.one WHERE v IS NULL") == 1
    assert count(empty_dsn, "langledger.migration") == 2


def test_the_package_migrates_an_empty_database_to_its_head(empty_dsn: str) -> None:
    head = len(load_migrations())
    before = status(empty_dsn)
    assert (before.version, before.head, len(before.pending)) == (0, head, head)
    Database(empty_dsn).setup()
    assert (status(empty_dsn).version, status(empty_dsn).pending) == (head, ())


async def test_both_pools_set_up(empty_dsn: str) -> None:
    async with AsyncDatabase(empty_dsn) as database:
        await database.asetup()
        await database.asetup()
    await Database(empty_dsn).asetup()
    assert status(empty_dsn).pending == ()


def test_eight_processes_at_once_all_succeed(empty_dsn: str) -> None:
    script = """
import sys
from langledger.database import Database
sys.stdin.readline()
Database(sys.argv[1]).setup()
"""
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen([sys.executable, "-c", script, empty_dsn], stdin=pipe, stderr=pipe)
        for _ in range(8)
    ]
    time.sleep(0.1)
    for process in processes:
        process.stdin.write(b"\n")
        process.stdin.flush()
    results = [(process.communicate()[1].decode(), process.returncode) for process in processes]
    assert results == [("", 0)] * 8
    assert count(empty_dsn, "langledger.migration") == len(load_migrations())


def test_schemas_made_at_once_all_succeed(empty_dsn: str) -> None:
    """They share the extension, which only one of them can create."""
    with ThreadPoolExecutor() as threads:
        for _ in threads.map(lambda schema: migrate(empty_dsn, schema=schema), ["a", "b", "c"]):
            pass
    assert [status(empty_dsn, schema=schema).pending for schema in ("a", "b", "c")] == [()] * 3


def test_killed_between_migrations_leaves_nothing_and_the_next_run_does_it_all(
    empty_dsn: str,
) -> None:
    script = """
import sys
from langledger.database.migrate import Migration, migrate
first = Migration(version=1, name="one", sql="CREATE TABLE one (n int);", sha256="x")
second = Migration(version=2, name="two", sql="SELECT pg_sleep(1);", sha256="y")
migrate(sys.argv[1], migrations=[first, second])
"""
    process = subprocess.Popen([sys.executable, "-c", script, empty_dsn])
    sleeping = "pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(1)%' AND state = 'active'"
    while count(empty_dsn, sleeping) == 0:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert count(empty_dsn, "pg_namespace WHERE nspname = 'langledger'") == 0
    assert migrate(empty_dsn, migrations=[FIRST, SECOND]) == [FIRST, SECOND]


def test_a_migration_that_fails_takes_those_before_it_along(empty_dsn: str) -> None:
    broken = migration(2, "CREATE TABLE two (n int); SELECT 1/0;")
    with pytest.raises(MigrationError, match=r"0002_step_2 failed.*as it was.*division by zero"):
        migrate(empty_dsn, migrations=[FIRST, broken])
    assert count(empty_dsn, "pg_namespace WHERE nspname = 'langledger'") == 0


def test_a_migration_changed_after_release_is_refused(empty_dsn: str) -> None:
    migrate(empty_dsn, migrations=[FIRST, SECOND])
    changed = migration(1, "CREATE TABLE one (n bigint);")
    for known in ([changed, SECOND], [changed, SECOND, migration(3, "SELECT 1;")]):
        with pytest.raises(MigrationError, match="0001_step_1 was changed after it was applied"):
            migrate(empty_dsn, migrations=known)


def test_a_database_of_a_newer_version_is_refused(empty_dsn: str) -> None:
    migrate(empty_dsn, migrations=[FIRST, SECOND])
    with pytest.raises(SchemaTooNewError, match="is at version 2, this langledger knows 1"):
        migrate(empty_dsn, migrations=[FIRST])


def test_a_newer_migration_that_lets_older_ones_go_on_is_no_error(empty_dsn: str) -> None:
    third = migration(3, "-- works with: 2\nALTER TABLE one ADD COLUMN later text;")
    migrate(empty_dsn, migrations=[FIRST, SECOND, third])
    assert migrate(empty_dsn, migrations=[FIRST, SECOND]) == []
    assert count(empty_dsn, "langledger.one") == 1
    with pytest.raises(SchemaTooNewError, match="is at version 3, this langledger knows 1"):
        migrate(empty_dsn, migrations=[FIRST])


def test_one_that_does_not_in_between_stops_them(empty_dsn: str) -> None:
    third = migration(3, "DROP TABLE one;")
    fourth = migration(4, "-- works with: 3\nCREATE TABLE two (n int);")
    migrate(empty_dsn, migrations=[FIRST, SECOND, third, fourth])
    with pytest.raises(SchemaTooNewError, match="is at version 4, this langledger knows 2"):
        migrate(empty_dsn, migrations=[FIRST, SECOND])


@pytest.fixture
def plain_role(empty_dsn: str):
    """A role that may connect and nothing else."""
    with connect(empty_dsn) as connection:
        connection.execute("CREATE ROLE plain LOGIN PASSWORD 'plain'")
        yield make_conninfo(empty_dsn, user="plain", password="plain")
        connection.execute("DROP OWNED BY plain")
        connection.execute("DROP ROLE plain")


def test_a_role_that_may_create_nothing_can_use_a_database_that_is_ready(
    empty_dsn: str, plain_role: str
) -> None:
    with pytest.raises(MigrationError, match="administrator run CREATE EXTENSION vector"):
        Database(plain_role).setup()
    with connect(empty_dsn) as connection:
        connection.execute("CREATE EXTENSION vector")
    with pytest.raises(MigrationError, match="`langledger db upgrade` once with the DSN of the ow"):
        Database(plain_role).setup()

    Database(empty_dsn).setup()
    for look in (status, migrate):
        with pytest.raises(MigrationError, match=r"may not read the schema 'langledger' .*grant"):
            look(plain_role)
    with connect(empty_dsn) as connection:
        connection.execute("GRANT USAGE ON SCHEMA langledger TO plain")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA langledger TO plain")
    Database(plain_role).setup()
    assert status(plain_role).pending == ()


def test_a_server_without_pgvector_is_told_what_to_install(empty_dsn: str) -> None:
    with connect(empty_dsn) as connection:
        if connection.info.server_version < 180000:
            pytest.skip("hiding the extension needs PostgreSQL 18")
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE \"{name}\" SET extension_control_path = '/nonexistent'")
    with pytest.raises(MigrationError, match=r"does not have pgvector: install it.*-pgvector"):
        migrate(empty_dsn)


def test_the_extension_may_stand_in_a_schema_of_its_own(empty_dsn: str) -> None:
    with connect(empty_dsn) as connection:
        connection.execute("CREATE SCHEMA extensions")
        connection.execute("CREATE EXTENSION vector SCHEMA extensions")
    assert migrate(empty_dsn, migrations=[FIRST, SECOND]) == [FIRST, SECOND]


def test_a_server_that_is_not_there_is_no_failed_migration() -> None:
    with pytest.raises(DatabaseUnavailableError):
        migrate("postgresql://127.0.0.1:1/none")


def test_every_table_begins_its_keys_with_the_tenant(dsn: str) -> None:
    """So that they shard by it unchanged; the list of migrations is of the database."""
    with connect(dsn) as connection:
        rows = connection.execute(
            "SELECT i.indexrelid::regclass::text AS index, a.attname::text AS first "
            "FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] "
            "WHERE c.relnamespace = 'langledger'::regnamespace AND i.indisunique "
            "AND c.relname <> 'migration'"
        ).fetchall()
    assert rows
    assert {row["index"]: row["first"] for row in rows if row["first"] != "tenant"} == {}
