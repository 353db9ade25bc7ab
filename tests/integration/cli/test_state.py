"""``langledger state`` and the commands by which a person changes it."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langledger import Ledger
from langledger.entries import Location, append
from langledger.operations import run
from tests.integration.cli.conftest import Call


@pytest.fixture
def thread(ledger: Ledger) -> str:
    """A thread with an order, which was given up, and a decision."""
    said = [
        HumanMessage("Never push to main. Let's use Postgres because we run it."),
        AIMessage("Fine."),
        HumanMessage("You can push to main now."),
    ]
    ledger.append(said, thread_id="edit")  # named like a command
    return "edit"


def records(call: Call, thread: str, *more: str) -> dict[str, list[dict[str, object]]]:
    code, out, _ = call("state", "show", thread, "--json", *more)
    assert code == 0
    return json.loads(out)["state"]


def test_a_thread_named_like_a_command_is_shown(call: Call, thread: str) -> None:
    code, out, _ = call("state", "show", thread)
    assert code == 0
    assert "- d1: Let's use Postgres — we run it. [#1]" in out
    assert "- no longer valid: c1: Never push to main. [#1, #3]" in out


def test_the_difference_since_an_entry(call: Call, thread: str) -> None:
    code, out, _ = call("state", "show", thread, "--diff", "--at", "1")
    assert (code, out.count("\n")) == (0, 1)
    assert "c1: Never push to main. [#1, #3] (status: active -> expired)" in out
    code, out, err = call("state", "show", thread, "--diff", "--at", "3")
    assert (code, out) == (0, "")
    assert err == "nothing of the state changed since entry 3\n"
    listed = json.loads(call("state", "show", thread, "--diff", "--json")[1])
    assert len(listed["diff"]) == 2


def test_a_person_edits_adds_archives_and_restores(call: Call, thread: str) -> None:
    assert call("state", "edit", thread, "d1", "--what", "Use Postgres 18", "--why", "uuidv7")[
        1
    ] == ("d1 (active): Use Postgres 18 - uuidv7\n")
    added = call("state", "add", thread, "convention", "Never push on Fridays")[1].split(" ")[0]
    assert "archived" in call("state", "archive", thread, added)[1]
    assert call("state", "restore", thread, "c1")[1] == "c1 (active): Never push to main.\n"
    state = records(call, thread)
    assert [d["what"] for d in state["decisions"]] == ["Use Postgres 18"]
    assert [(c["id"], c["status"], c["archived"]) for c in state["conventions"]] == [
        ("c1", "active", False),
        (added, "active", True),
    ]
    exported = json.loads(call("state", "export", thread)[1])
    assert [e["type"] for e in exported["events"]] == ["changed", "added", "changed", "changed"]
    assert exported["state"]["decisions"][0]["origin"] == "person"


def test_a_scope_that_a_thread_does_not_have_is_named(
    call: Call, thread: str, ledger: Ledger
) -> None:
    assert call("state", "show", thread, "--scope", "nosuch")[::2] == (
        1,
        "langledger: thread 'edit' has no scope 'nosuch'; its scopes: none, leave scope out\n",
    )
    spoken = HumanMessage("Never push.")
    run(append(Location(ledger.tenant, thread, "writer"), [spoken]), ledger.executor)
    assert call("state", "show", thread, "--scope", "writer")[0] == 0
    for command in (("state", "show"), ("state", "export")):
        assert "its scopes: writer" in call(*command, thread, "--scope", "nosuch")[2]


def test_what_cannot_be_done_says_so(call: Call, thread: str) -> None:
    code, _, err = call("state", "edit", thread, "d99", "--what", "x")
    assert (code, err.count("\n")) == (1, 1)
    assert "no record 'd99'" in err
    code, _, err = call("state", "edit", thread, "d1")
    assert code == 2
    assert "give --what, --why or --status" in err
    code, _, err = call("state", "add", "nothing", "decision", "x")
    assert code == 1
    assert "there is no thread 'nothing'" in err
    assert call("state", "add", thread, "wish", "x")[0] == 2
    code, _, err = call("state", "show", thread, "--task", "other")
    assert code == 1
    assert "has no task 'other'" in err
    assert call("state")[0] == 2


def test_changes_are_told_to_programs(call: Call, ledger: Ledger) -> None:
    ledger.append([HumanMessage("hello")], thread_id="told")
    code, out, err = call("state", "add", "told", "decision", "Use tabs", "--json")
    assert (code, err) == (0, "")
    added = json.loads(out)["record"]
    assert (added["what"], added["status"]) == ("Use tabs", "active")
    edited = json.loads(call("state", "edit", "told", added["id"], "--why", "so", "--json")[1])
    assert edited["record"]["why"] == "so"
    assert json.loads(call("state", "archive", "told", added["id"], "--json")[1])["record"][
        "archived"
    ]
    restored = json.loads(call("state", "restore", "told", added["id"], "--json")[1])
    assert not restored["record"]["archived"]
    written = json.loads(call("store", "put", "a/b", "k", '{"x": 1}', "--json")[1])
    assert (written["key"], written["value"]) == ("k", {"x": 1})
    assert json.loads(call("store", "delete", "a/b", "k", "--json")[1])["deleted"] is True
