"""``langledger store`` and ``langledger facts``."""

from __future__ import annotations

import io
import json

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from langledger.operations import run
from tests.integration.cli.conftest import Call


def test_an_item_is_written_found_and_deleted(call: Call) -> None:
    assert call("store", "put", "ann.projects", "billing", '{"port": 8431, "note": "第一"}')[0] == 0
    code, out, _ = call("store", "get", "ann.projects", "billing")
    assert (code, json.loads(out)) == (0, {"port": 8431, "note": "第一"})
    code, out, _ = call("store", "search", "ann", "8431", "--json")
    assert [item["key"] for item in json.loads(out)["items"]] == ["billing"]
    assert "ann.projects  billing" in call("store", "list")[1]
    assert call("store", "list", "--namespaces")[1] == "ann.projects\n"
    assert call("store", "delete", "ann.projects", "billing")[0] == 0
    code, out, err = call("store", "list", "ann")
    assert (code, out) == (0, "")
    assert "no such items" in err


def test_a_value_is_read_from_stdin(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"long": "text"}'))
    assert call("store", "put", "a", "k", "-")[0] == 0
    assert json.loads(call("store", "get", "a", "k", "--json")[1])["value"] == {"long": "text"}


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("put", "a", "k", "{"), 2, "not JSON"),
        (("put", "a", "k", "[1]"), 2, "must be a JSON object"),
        (("put", "a..b", "k", "{}"), 2, "namespace"),
        (("put", "langgraph.a", "k", "{}"), 2, "langgraph"),
        (("put", "", "k", "{}"), 2, "namespace"),
        (("get", "a", "k"), 1, "there is no item 'k' in 'a'"),
        (("delete", "a", "k"), 1, "langledger store list"),
    ],
)
def test_what_cannot_be_done_is_told(
    call: Call, arguments: tuple[str, ...], code: int, told: str
) -> None:
    found, out, err = call("store", *arguments)
    assert (found, out) == (code, "")
    assert told.casefold() in err.casefold()


def test_facts_are_listed_and_deleted(call: Call, ledger: Ledger) -> None:
    said = HumanMessage("I prefer tabs over spaces. My name is Ann.")
    learnt = ledger.long_term.learn_from("ann", said, thread_id="monday", entry_id=1)
    assert run(learnt, ledger.executor) == 2
    code, out, _ = call("facts", "ann")
    assert code == 0
    assert "I prefer tabs over spaces  [monday #1]" in out
    found = json.loads(call("facts", "ann", "--query", "tabs", "--json")[1])["facts"]
    assert [fact["kind"] for fact in found] == ["preference"]
    assert call("facts", "ann", "--forget", found[0]["key"])[0] == 0
    assert "tabs" not in call("facts", "ann")[1]
    code, _, err = call("facts", "ann", "--forget", found[0]["key"])
    assert (code, "there is no fact" in err) == (1, True)
    assert "nothing is known of bob" in call("facts", "bob")[2]
