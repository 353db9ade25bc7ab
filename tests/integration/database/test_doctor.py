from __future__ import annotations

import pytest
from psycopg.conninfo import make_conninfo

from langledger.database import Database
from langledger.database.connection import connect
from langledger.database.doctor import Check, Report, diagnose


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


def test_a_server_that_is_not_there_is_a_check_that_failed() -> None:
    report = diagnose("postgresql://somebody:s3cret@127.0.0.1:1/none")
    assert report.verdict == "error"
    assert "Connection refused" in by_name(report)["connection"].advice
    assert "s3cret" not in str(report.as_dict())
