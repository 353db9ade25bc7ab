"""PostgreSQL itself keeps tenants apart: no statement of ours or of anybody's reaches across."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from langledger import Ledger
from langledger.database import Database
from langledger.database.connection import connect
from langledger.database.roles import make_role
from langledger.errors import ConfigurationError, DatabaseError, NotSetUpError
from langledger.operations import Batch, Query
from tests.integration.security.conftest import role

TABLES = """
SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced,
       EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid) AS has_policy,
       EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant'
               AND NOT a.attisdropped) AS has_tenant
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'langledger' AND c.relkind IN ('r', 'p')
ORDER BY c.relname
"""
FUNCTIONS = """
SELECT p.oid::regprocedure::text AS name, p.prosecdef AS as_owner,
       p.proacl IS NULL
       OR EXISTS (SELECT FROM aclexplode(p.proacl) a WHERE a.grantee = 0) AS for_all,
       (SELECT c FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%') AS path
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = 'langledger'::regnamespace AND (p.prosecdef OR l.lanname = 'plpgsql')
"""
# A table of the session's own, whose rows are read by a function of the session's own.
ESCAPE = """
CREATE TYPE pg_temp.trap AS (a text);
CREATE FUNCTION pg_temp.spring() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> session_user THEN
        ALTER TABLE langledger.thread DISABLE ROW LEVEL SECURITY;
    END IF;
END $$;
CREATE FUNCTION pg_temp.open(pg_temp.trap) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN PERFORM pg_temp.spring(); RETURN 'x'; END $$;
CREATE CAST (pg_temp.trap AS text) WITH FUNCTION pg_temp.open(pg_temp.trap) AS IMPLICIT;
CREATE TEMP TABLE recall_vector (tenant pg_temp.trap, model int, embedding public.halfvec(1))
    PARTITION BY LIST (model);
CREATE TEMP TABLE recall_vector_1 PARTITION OF recall_vector DEFAULT;
INSERT INTO recall_vector VALUES (ROW('q')::pg_temp.trap, 1, '[1]');
GRANT ALL ON recall_vector, recall_vector_1 TO PUBLIC;
GRANT ALL ON FUNCTION pg_temp.open, pg_temp.spring TO PUBLIC;
"""
COLUMNS = """
SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type,
       a.attnotnull AND NOT a.atthasdef AS needed
FROM pg_attribute a WHERE a.attrelid = %(table)s::regclass AND a.attnum > 0 AND NOT a.attisdropped
"""
SAMPLES = {
    "text": "'victim'",
    "bytea": "'\\x01'",
    "uuid": "'11111111-1111-1111-1111-111111111111'",
    "jsonb": "'{}'",
    "integer": "1",
    "bigint": "1",
    "real": "1",
    "boolean": "true",
    "interval": "'1 day'",
    "tsvector": "'victim'",
    "timestamp with time zone": "now()",
    "int8multirange": "'{}'",
    "text[]": "'{victim}'",
    "bigint[]": "'{1}'",
    "integer[]": "'{1}'",
}


def tables(dsn: str) -> list[str]:
    with connect(dsn) as connection:
        return [row["name"] for row in connection.execute(TABLES) if row["has_tenant"]]


def sample(connection: psycopg.Connection[Any], table: str, tenant: str) -> SQL:
    """Return the statement that inserts a row for a tenant, whatever the table's columns are."""
    columns = connection.execute(COLUMNS, {"table": f"langledger.{table}"}).fetchall()
    values = {row["name"]: SAMPLES[row["type"]] for row in columns if row["needed"]}
    values["tenant"] = Literal(tenant).as_string()
    return SQL("INSERT INTO langledger.{} ({}) VALUES ({})").format(
        Identifier(table),
        SQL(", ").join(map(Identifier, values)),
        SQL(", ").join(SQL(value) for value in values.values()),
    )


def test_every_table_with_a_tenant_is_under_it(app_dsn: str, dsn: str) -> None:
    with connect(dsn) as connection:
        found = connection.execute(TABLES).fetchall()
    assert {row["name"] for row in found if not row["has_tenant"]} <= {"migration", "citus_tables"}
    assert [
        r["name"] for r in found if r["has_tenant"] and not (r["forced"] and r["has_policy"])
    ] == []


def test_a_table_of_a_later_migration_is_put_under_it(app_dsn: str, dsn: str) -> None:
    with connect(dsn) as connection:
        connection.execute("CREATE TABLE langledger.later (tenant text PRIMARY KEY)")
        connection.execute("INSERT INTO langledger.later VALUES ('a'), ('b')")
        connection.execute("SELECT langledger.secure_tables()")
    with connect(app_dsn) as connection, connection.transaction():
        connection.execute("SET LOCAL langledger.tenant = 'b'")
        rows = connection.execute("SELECT tenant FROM langledger.later").fetchall()
    assert rows == [{"tenant": "b"}]


def test_no_statement_reaches_the_rows_of_another_tenant(app_dsn: str, dsn: str) -> None:
    names = tables(dsn)
    with connect(dsn) as owner, connect(app_dsn) as attacker:
        # Foreign keys would ask for parents; nothing here depends on them.
        with owner.transaction():
            owner.execute("SET LOCAL session_replication_role = replica")
            for name in names:
                owner.execute(sample(owner, name, "victim"))
        before = contents(owner, names)
        reached = [
            f"{what} {name}"
            for name in names
            for what in ("SELECT", "UPDATE", "DELETE", "INSERT", "MOVE", "COPY", "TRUNCATE")
            if attempt(attacker, what, name, sample(owner, name, "victim"))
        ]
        assert reached == []
        assert contents(owner, names) == before
    assert len(names) > 25


def contents(owner: psycopg.Connection[Any], names: list[str]) -> list[Any]:
    return [
        owner.execute(
            SQL("SELECT t::text FROM langledger.{} t").format(Identifier(name))
        ).fetchall()
        for name in names
    ]


def attempt(connection: psycopg.Connection[Any], what: str, name: str, insert: SQL) -> bool:
    """Tell whether a tenant's transaction reads or changes a row of another."""
    table = Identifier(name)
    statements = {
        "SELECT": SQL("SELECT * FROM langledger.{}").format(table),
        "UPDATE": SQL("UPDATE langledger.{} SET tenant = tenant").format(table),
        "DELETE": SQL("DELETE FROM langledger.{}").format(table),
        "INSERT": insert,
        "MOVE": SQL("UPDATE langledger.{} SET tenant = 'attacker'").format(table),
        "COPY": SQL("COPY (SELECT * FROM langledger.{}) TO STDOUT").format(table),
        "TRUNCATE": SQL("TRUNCATE langledger.{} CASCADE").format(table),
    }
    try:
        with connection.transaction():
            connection.execute("SET LOCAL langledger.tenant = 'attacker'")
            if what == "COPY":
                with connection.cursor().copy(statements[what]) as copy:
                    return any(copy)
            return connection.execute(statements[what]).rowcount != 0
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported):
        return False  # the latter of Citus, on which no row changes its tenant


@pytest.mark.parametrize(
    "statement",
    [
        "SET row_security = off; SELECT * FROM langledger.entry",
        "ALTER TABLE langledger.entry DISABLE ROW LEVEL SECURITY",
        "DROP POLICY one_tenant ON langledger.entry",
        "UPDATE langledger.forget_receipt SET subject = ''",
        "DELETE FROM langledger.forget_receipt",
        "DELETE FROM langledger.migration",
        "SELECT * FROM langledger.working_state",
        "SELECT * FROM langledger.entry",
    ],
)
def test_the_role_cannot_get_out_of_it(app_dsn: str, statement: str) -> None:
    with connect(app_dsn) as connection, pytest.raises(psycopg.Error):
        connection.execute(statement)


def test_no_function_takes_what_its_caller_made_for_a_table_of_ours(dsn: str) -> None:
    with connect(dsn) as connection:
        found = connection.execute(FUNCTIONS).fetchall()
    assert [r["name"] for r in found if not str(r["path"]).endswith(", pg_temp")] == []
    as_owner = [row for row in found if row["as_owner"]]
    assert [row["path"] for row in as_owner] == ["search_path=langledger, pg_temp"]
    assert [row["name"] for row in as_owner if row["for_all"]] == []


def test_no_function_of_the_role_runs_as_the_owner(app_dsn: str, dsn: str) -> None:
    with connect(app_dsn) as attacker:
        attacker.execute(ESCAPE)
        attacker.execute("SELECT langledger.recall_build_index('x', 1, 1)")
    with connect(dsn) as owner:
        assert set(tables(dsn)) == {r["name"] for r in owner.execute(TABLES) if r["forced"]}
        built = "SELECT schemaname AS schema FROM pg_indexes WHERE indexname LIKE 'recall_hnsw%'"
        assert owner.execute(built).fetchall() == [{"schema": "langledger"}]


def test_the_owner_indexes_the_tenant_that_is_named(app_dsn: str, dsn: str) -> None:
    call = "SELECT langledger.recall_build_index('victim', 1, 1)"
    with connect(app_dsn) as attacker, attacker.transaction():
        attacker.execute("SET LOCAL langledger.tenant = 'attacker'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="another tenant"):
            attacker.execute(call)
    name = Identifier(f"langledger_other_{uuid4().hex[:12]}")
    with connect(dsn) as owner, owner.transaction(force_rollback=True):
        owner.execute(SQL("CREATE ROLE {}").format(name))
        owner.execute(SQL("GRANT USAGE ON SCHEMA langledger TO {}").format(name))
        owner.execute(SQL("SET LOCAL ROLE {}").format(name))
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="recall_build_index"):
            owner.execute(call)


def test_a_session_that_was_used_finds_nothing_without_a_tenant(app_dsn: str, dsn: str) -> None:
    with Ledger.from_conn_string(dsn, tenant="acme") as ledger:
        ledger.append([HumanMessage("private")], thread_id="1")
    with connect(app_dsn) as connection:
        with connection.transaction():
            connection.execute("SET LOCAL langledger.tenant = 'acme'")
            assert connection.execute("SELECT FROM langledger.entry").rowcount == 1
        assert connection.execute("SELECT FROM langledger.entry").rowcount == 0


def test_a_wrong_statement_reaches_one_tenant(app_dsn: str) -> None:
    with Ledger.from_conn_string(app_dsn, tenant="acme") as ledger:
        ledger.append([HumanMessage("private")], thread_id="1")
        other = Batch([Query("SELECT * FROM {schema}.entry", {"tenant": "umbrella"})])
        assert ledger.executor.execute(other) == [[]]
        nobody = Batch([Query("SELECT * FROM {schema}.entry")])
        assert ledger.executor.execute(nobody) == [[]]
        mixed = [Query("SELECT 1 AS n", {"tenant": name}) for name in ("acme", "umbrella")]
        with pytest.raises(DatabaseError, match="several tenants"):
            ledger.executor.execute(Batch(mixed))


def test_tenants_with_quotes_are_named_as_they_are(app_dsn: str) -> None:
    for tenant in ("o'neill", 'a"b', "back\\slash", "über 漢字", "%s %(x)s", "a; DROP TABLE x"):
        with Ledger.from_conn_string(app_dsn, tenant=tenant) as ledger:
            ledger.append([HumanMessage("hello")], thread_id="1")
            assert ledger.count("1") == 1


def test_row_security_can_be_required(app_dsn: str, dsn: str, empty_dsn: str) -> None:
    with Ledger.from_conn_string(app_dsn, require_row_security=True) as ledger:
        assert ledger.threads() == []
    for owner in (dsn, empty_dsn):  # a superuser; and before there is a table
        with pytest.raises(ConfigurationError, match="langledger db role"):
            Ledger.from_conn_string(owner, require_row_security=True).open()
    with pytest.raises(ConfigurationError, match="require_row_security"):
        Database(dsn, require_row_security="no")  # pyright: ignore[reportArgumentType]


def test_roles_that_could_reach_everything_are_refused(dsn: str, empty_dsn: str) -> None:
    superuser = conninfo_to_dict(dsn)["user"]
    with pytest.raises(ConfigurationError, match="superuser"):
        make_role(dsn, str(superuser))
    with pytest.raises(NotSetUpError, match="db upgrade"):
        make_role(empty_dsn, "langledger_nobody")
    for name in ("", "x" * 64):
        with pytest.raises(ConfigurationError):
            make_role(dsn, name)


def test_whoever_was_exempt_is_told_to_open_it_again(app_dsn: str, dsn: str) -> None:
    name = Identifier(str(conninfo_to_dict(app_dsn)["user"]))
    with connect(dsn) as owner:
        owner.execute(SQL("ALTER ROLE {} BYPASSRLS").format(name))
        with Ledger.from_conn_string(app_dsn) as ledger:
            ledger.append([HumanMessage("hello")], thread_id="1")
            owner.execute(SQL("ALTER ROLE {} NOBYPASSRLS").format(name))
            with pytest.raises(DatabaseError, match="open it again"):
                ledger.count("1")
    with Ledger.from_conn_string(app_dsn) as ledger:
        assert ledger.count("1") == 1


@pytest.fixture
def owner_dsn(empty_dsn: str) -> Iterator[str]:
    """An empty database with pgvector, as an owner that is no superuser."""
    password = conninfo_to_dict(empty_dsn).get("password")
    name = Identifier(f"langledger_owner_{uuid4().hex[:12]}")
    with connect(empty_dsn) as superuser:
        superuser.execute("CREATE EXTENSION vector")
        superuser.execute(SQL("CREATE ROLE {} LOGIN CREATEROLE").format(name))
        if password:
            superuser.execute(SQL("ALTER ROLE {} PASSWORD {}").format(name, str(password)))
        database = Identifier(str(conninfo_to_dict(empty_dsn)["dbname"]))
        superuser.execute(SQL("GRANT CREATE ON DATABASE {} TO {}").format(database, name))
        try:
            yield make_conninfo(empty_dsn, user=name.as_string().strip('"'))
        finally:
            superuser.execute(SQL("DROP OWNED BY {} CASCADE").format(name))
            superuser.execute(SQL("DROP ROLE {}").format(name))


def test_an_owner_that_is_no_superuser_is_under_it_too(owner_dsn: str, empty_dsn: str) -> None:
    with Ledger.from_conn_string(owner_dsn, tenant="acme") as ledger:
        ledger.append([HumanMessage("hello")], thread_id="1")
    with role(owner_dsn, superuser=empty_dsn) as app_dsn:
        for dsn in (owner_dsn, app_dsn):
            with Ledger.from_conn_string(dsn, tenant="acme", require_row_security=True) as ledger:
                assert ledger.count("1") == 1
                assert ledger.for_tenant("umbrella").count("1") == 0
        with connect(owner_dsn) as owner, pytest.raises(psycopg.errors.UndefinedObject):
            owner.execute("SELECT FROM langledger.entry")
