"""The commands as a user calls them: what is on stdout, on stderr, and the exit code."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from tests.support.shell import Call, caller


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ledger: Ledger
) -> Call:
    """Call the command line on the test's tenant; returns the exit code, stdout and stderr."""
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", ledger.dsn)
    monkeypatch.setenv("LANGLEDGER_TENANT", ledger.tenant)

    return caller(monkeypatch, capsys)


def test_forgetting_from_the_shell(call: Call, ledger: Ledger) -> None:
    said = [HumanMessage("one", id="1"), HumanMessage("two", id="2")]
    for thread_id in ("a", "b"):
        ledger.append(said, thread_id=thread_id, user_id="ann")

    code, out, err = call("forget", "--thread", "a", "--dry-run")
    assert (code, out.split()) == (0, ["2", "entry", "1", "thread"])
    assert "nothing was changed" in err
    assert "a was written to within the last minute" in err

    code, out, _ = call("forget", "--thread", "a", "--entry", "2", "--by", "me", "--json")
    assert (code, json.loads(out)["counts"]) == (0, {"entry text": 1})
    code, out, _ = call("export", "--user", "ann")
    assert code == 0
    assert len([json.loads(line) for line in out.splitlines()]) == 6
    code, out, err = call("forget", "--user", "ann")
    assert (code, ledger.threads()) == (0, [])
    assert "the receipt is" in err
    for again in ((), ("--dry-run",)):
        code, out, err = call("forget", "--thread", "a", *again)
        assert (code, out) == (0, "")
        assert err == "there is nothing of it (thread a); nothing was forgotten\n"
    assert call("retain", "--max-age", "1w", "--tag", "noise")[0] == 0

    code, out, _ = call("receipts", "--json")
    whats = [receipt["what"] for receipt in json.loads(out)["receipts"]]
    assert (code, whats) == (0, ["retention", "thread", "user", "entry"])
    assert "entry a, asked for by me: 1 rows" in call("receipts")[1]


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["forget"], "say what to forget"),
        (["forget", "--thread", "a", "--user", "b"], "say what to forget"),
        (["forget", "--tenant", "somebody-else"], "this ledger is of tenant"),
        (["retain", "--max-age", "soon"], "such as 30d"),
        (["retain", "--max-age", "999999999w"], "longer than there are dates"),
    ],
)
def test_wrong_calls_say_what_is_right(call: Call, arguments: list[str], advice: str) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert advice in err


def test_a_role_is_made(call: Call, dsn: str) -> None:
    code, out, _ = call("db", "role", "postgres", "--dsn", dsn)
    assert code == 2
    assert out == ""
