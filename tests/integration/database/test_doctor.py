from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from langledger.database import Database
from langledger.database.connection import connect
from langledger.database.doctor import Check, Report, diagnose
from tests.integration.security.conftest import role


def by_name(report: Report) -> dict[str, Check]:
    return {check.name: check for check in report.checks}


def test_a_database_that_is_ready_is_told_what_it_is(database: Database, server_dsn: str) -> None:
    checks = by_name(diagnose(database.dsn))
    assert checks["postgresql"].verdict == checks["schema"].verdict == "ok"
    assert checks["schema"].value.startswith("langledger, version ")
    assert checks["pooler"].value == "none, connected directly"
    assert checks["server_encoding"] == Check(name="server_encoding", value="UTF8")
    assert "psycopg" in checks["packages"].value


def test_an_empty_database_is_not_written_to_and_told_the_next_step(empty_dsn: str) -> None:
    checks = by_name(report := diagnose(empty_dsn))
    for name in ("pgvector", "schema"):
        assert checks[name].verdict == "warning"
        assert checks[name].advice == "run `langledger db upgrade`"
    assert report.verdict in {"warning", "error"}
    with connect(empty_dsn) as connection:
        found = connection.execute("SELECT FROM pg_namespace WHERE nspname = 'langledger'")
        assert found.rowcount == 0


@pytest.mark.parametrize(
    ("setting", "value", "verdict"),
    [
        ("synchronous_commit", "off", "warning"),
        ("default_transaction_read_only", "on", "error"),
        ("standard_conforming_strings", "off", "error"),
        ("array_nulls", "off", "error"),
        ("row_security", "off", "error"),
        ("session_replication_role", "replica", "error"),
        ("gin_fuzzy_search_limit", "1", "warning"),
    ],
)
def test_a_setting_that_costs_data_is_pointed_out(
    database: Database, setting: str, value: str, verdict: str
) -> None:
    changed = make_conninfo(database.dsn, options=f"-c {setting}={value}")
    found = by_name(diagnose(changed))[setting.removeprefix("default_")]
    assert (found.value, found.verdict) == (value, verdict)
    assert found.advice


def test_a_schema_of_another_version_is_an_error(database: Database) -> None:
    with connect(database.dsn) as connection:
        connection.execute("UPDATE langledger.migration SET sha256 = 'another'")
    found = by_name(diagnose(database.dsn))["schema"]
    assert found.verdict == "error"
    assert "was changed" in found.advice


def test_a_newer_schema_that_lets_this_release_go_on_is_told(database: Database) -> None:
    with connect(database.dsn) as connection:
        connection.execute(
            "INSERT INTO langledger.migration (version, name, sha256, oldest) "
            "SELECT max(version) + 1, 'later', 'x', max(version) FROM langledger.migration"
        )
    found = by_name(diagnose(database.dsn))["schema"]
    assert found.verdict == "warning"
    assert "upgrade the package" in found.advice
    database.setup()  # and nothing else happens


def test_a_server_that_is_not_there_is_a_check_that_failed() -> None:
    report = diagnose("postgresql://somebody:s3cret@127.0.0.1:1/none")
    assert report.verdict == "error"
    assert "Connection refused" in by_name(report)["connection"].advice
    assert "s3cret" not in str(report.as_dict())


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("statement_timeout", "5s"),
        ("lock_timeout", "1s"),
        ("default_transaction_isolation", "serializable"),
    ],
)
def test_a_setting_that_makes_work_fail_is_pointed_out(
    database: Database, setting: str, value: str
) -> None:
    changed = make_conninfo(database.dsn, options=f"-c {setting}={value}")
    found = by_name(diagnose(changed))[setting]
    assert (found.value, found.verdict) == (value, "warning")
    assert found.advice


def test_a_pool_larger_than_the_server_is_pointed_out(database: Database) -> None:
    assert by_name(diagnose(database.dsn, pool_size=2))["pool_size"].verdict == "ok"
    found = by_name(diagnose(database.dsn, pool_size=5000))["pool_size"]
    assert found.verdict == "warning"
    assert "LANGLEDGER_POOL_SIZE" in found.advice


def test_an_index_that_was_left_half_built_is_pointed_out(database: Database) -> None:
    assert by_name(diagnose(database.dsn))["indexes"].value == "whole"
    with connect(database.dsn) as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = false "
            "WHERE indexrelid = 'langledger.entry_pkey'::regclass"
        )
    found = by_name(diagnose(database.dsn))["indexes"]
    assert found.value == "half built: entry_pkey"
    assert "REINDEX" in found.advice


def test_what_was_dropped_or_switched_off_is_pointed_out(database: Database) -> None:
    checks = by_name(diagnose(database.dsn))
    assert checks["objects"].verdict == checks["row_level_security"].verdict == "ok"
    with connect(database.dsn) as connection:
        for statement in (
            "ALTER TABLE langledger.pin RENAME TO pinned",
            "ALTER TABLE langledger.thread DISABLE TRIGGER recall_forget",
            "DROP TRIGGER recall_forget ON langledger.entry",
            "DROP POLICY one_tenant ON langledger.thread",
            "ALTER TABLE langledger.brought DISABLE ROW LEVEL SECURITY",
            "CREATE POLICY more ON langledger.entry FOR SELECT USING (true)",
        ):
            connection.execute(statement)
    checks = by_name(diagnose(database.dsn))
    assert (
        checks["objects"].value == "not there: pin, recall_forget on entry, recall_forget on thread"
    )
    assert checks["row_level_security"].value.endswith("on brought, entry, thread")
    assert checks["objects"].verdict == checks["row_level_security"].verdict == "error"
    assert checks["objects"].advice
    assert checks["row_level_security"].advice


def test_what_was_done_to_the_role_is_pointed_out(database: Database) -> None:
    with role(database.dsn) as app, connect(database.dsn) as owner:
        checks = by_name(diagnose(app))
        for name in ("rights", "objects", "row_level_security", "pool_size"):
            assert checks[name].verdict == "ok"
        name = str(conninfo_to_dict(app)["user"])
        owner.execute(f"ALTER ROLE {name} BYPASSRLS CONNECTION LIMIT 9")
        owner.execute(f"REVOKE INSERT, DELETE ON langledger.entry FROM {name}")
        owner.execute(f"REVOKE ALL ON FUNCTION langledger.recall_build_index FROM {name}")
        owner.execute("ALTER TABLE langledger.pin NO FORCE ROW LEVEL SECURITY")
        checks = by_name(diagnose(app))
        assert checks["rights"].value == (
            "missing on entry (DELETE, INSERT), recall_build_index (EXECUTE)"
        )
        assert "CONNECTION LIMIT" in checks["pool_size"].advice
        assert checks["row_level_security"].value.endswith("on pin")
        owner.execute("ALTER TABLE langledger.pin FORCE ROW LEVEL SECURITY")
        assert "NOBYPASSRLS" in by_name(diagnose(app))["row_level_security"].advice


def test_a_role_without_rights_is_pointed_out(database: Database) -> None:
    name = f"nobody_{database.dsn.partition('dbname=')[2][-16:].partition(' ')[0]}"
    with connect(database.dsn) as connection:
        connection.execute(SQL("CREATE ROLE {} LOGIN").format(Identifier(name)))
    try:
        found = by_name(diagnose(make_conninfo(database.dsn, user=name)))["rights"]
    finally:
        with connect(database.dsn) as connection:
            connection.execute(SQL("DROP ROLE {}").format(Identifier(name)))
    assert found.verdict == "error"
    assert "langledger db role" in found.advice


def test_a_server_of_this_machine_needs_no_encryption(database: Database) -> None:
    checks = by_name(diagnose(database.dsn))
    assert (
        checks["transport"].verdict == checks["rights"].verdict == checks["clock"].verdict == "ok"
    )
    assert checks["transactions"].verdict == "ok"
