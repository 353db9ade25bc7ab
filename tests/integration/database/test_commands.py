"""The commands as a user calls them: what is on stdout, on stderr, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.shell import caller

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    """Call the command line; returns the exit code, stdout and stderr."""
    for name in ("DATABASE_URL", "DATA_DIR", "REQUIRE_DATABASE_URL"):
        monkeypatch.delenv(f"LANGLEDGER_{name}", raising=False)

    return caller(monkeypatch, capsys)


def test_upgrade_and_status_of_a_server(call, empty_dsn: str) -> None:
    code, out, err = call("db", "status", "--dsn", empty_dsn, "--json")
    before = json.loads(out)
    assert (code, err, before["version"]) == (0, "", 0)
    assert len(before["pending"]) == before["head"] > 0

    code, out, _ = call("db", "upgrade", "--database-url", empty_dsn, "--json")
    assert code == 0
    assert json.loads(out)["applied"] == before["pending"]

    code, out, _ = call("db", "status", "--dsn", empty_dsn)
    assert (code, out) == (
        0,
        f"schema langledger is at version {before['head']} of {before['head']}\n",
    )


def test_doctor_tells_people_and_programs_the_same(call, dsn: str) -> None:
    code, out, _ = call("doctor", "--dsn", dsn, "--json")
    report = json.loads(out)
    _, text, _ = call("doctor", "--dsn", dsn)
    assert code == (1 if report["verdict"] == "error" else 0)
    for check in report["checks"]:
        assert check["name"] in text
        assert check["value"] in text


def test_the_doctor_makes_no_embedded_server(call, open_folder: Path) -> None:
    folder = open_folder / "data"
    code, out, _ = call("doctor", "--data-dir", str(folder), "--json")
    (server,) = (one for one in json.loads(out)["checks"] if one["name"] == "server")
    assert (code, server["verdict"]) == (0, "warning")
    assert "langledger db upgrade" in server["advice"]
    assert not folder.exists()


def test_the_embedded_server_runs_for_one_command_only(call, open_folder: Path) -> None:
    code, out, err = call("db", "upgrade", "--data-dir", str(open_folder / "data"))
    assert (code, err) == (0, "")
    assert "schema langledger is at version" in out
    assert not (open_folder / "data" / "cluster" / "postmaster.pid").exists()

    code, out, _ = call("doctor", "--data-dir", str(open_folder / "data"), "--json")
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert code == 0, checks
    assert checks["server"]["value"].startswith("embedded, data in")
    assert checks["disk"]["value"].endswith("free")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--dsn", "postgresql://u:s3cret@127.0.0.1:1/x"], 1, "cannot be reached"),
        (["--dsn", "no dsn"], 2, "the DSN is not valid"),
        (["--dsn", "a", "--data-dir", "b"], 2, "not both"),
        (["--data-dir", "/proc/data"], 1, "set LANGLEDGER_DATABASE_URL=postgresql"),
    ],
)
def test_what_does_not_work_is_one_line_on_stderr(
    call, arguments: list[str], code: int, said: str
) -> None:
    ended, out, err = call("db", "status", *arguments)
    assert (ended, out) == (code, "")
    assert err.count("\n") == 1
    assert err.startswith("langledger: ")
    assert said in err
    assert "s3cret" not in err


@pytest.mark.parametrize("arguments", [["nothing"], ["doctor", "--nothing"], ["db", "nothing"]])
def test_a_wrong_call_is_told_apart(call, arguments: list[str]) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert "nothing" in err


def test_a_mistyped_setting_never_falls_back(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGLEDGER_DATABSE_URL", "postgresql://h/d")
    code, _, err = call("db", "status")
    assert code == 2
    assert "unknown setting LANGLEDGER_DATABSE_URL" in err


def test_the_embedded_server_can_be_forbidden(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGLEDGER_REQUIRE_DATABASE_URL", "1")
    code, _, err = call("db", "status")
    assert code == 2
    assert "forbids the embedded server" in err


def test_version(call) -> None:
    assert call("--version")[:2] == (0, "langledger 0.1.0\n")
