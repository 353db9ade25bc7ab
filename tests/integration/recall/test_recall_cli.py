"""The commands recall, search and index."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from tests.support.shell import caller
from tests.support.words import NOTES


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ledger: Ledger
) -> Any:
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", ledger.dsn)

    return caller(monkeypatch, capsys)


def test_recall_and_search(ledger: Ledger, call: Any) -> None:
    ledger.append([HumanMessage(note) for note in NOTES], thread_id="t", metadata={"n": 3})
    code, out, _ = call("recall", "t", "what was ERR_4F7Q?", "--json", "--k", "2", "--explain")
    found = json.loads(out)
    assert (code, found["query"]) == (0, "what was ERR_4F7Q?")
    assert set(found) == {"query", "hits", "gate", "seconds"}
    best = found["hits"][0]
    assert {"entry_id", "role", "text", "score", "scores", "metadata"} <= set(best)
    assert (best["entry_id"], best["role"], best["text"]) == (4, "human", NOTES[3])
    assert found["gate"]["inject"] is True

    _, out, _ = call("recall", "t", "端口错配", "--k", "1")
    assert NOTES[1] in out
    _, out, _ = call(
        "search", "队列", "--filter", "role=user", "--filter", "metadata.n=3", "--json"
    )
    assert [hit["thread_id"] for hit in json.loads(out)["hits"]][:1] == ["t"]
    _, out, err = call("recall", "t", "hello", "--explain")
    assert (out, "nothing was found" in err) == ("", True)
    code, out, _ = call("index", "--json")
    told = {"entries": 0, "tagged": 0, "vectors": 0, "model": None}
    assert (code, json.loads(out)) == (0, told)


@pytest.mark.parametrize("command", [("recall", "t"), ("search",)])
def test_who_waits_for_the_index_is_told_how_far_it_is(
    ledger: Ledger, call: Any, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr("langledger.cli.recall._QUIET", 0.0)
    ledger.append([HumanMessage(f"harbour {n}") for n in range(201)], thread_id="t")
    _, out, err = call(*command, "harbour", "--json")
    assert ("200 entries so far" in err, "201 entries so far" in err) == (True, True)
    assert json.loads(out)["hits"]
    assert "so far" not in call(*command, "harbour")[2]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("recall", "nobody", "x"), 1, "there is no thread 'nobody'"),
        (("recall", "t", "x", "--filter", "role"), 2, "must be KEY=VALUE"),
        (("search", "x", "--filter", "colour=red"), 2, "unknown filter 'colour'"),
        (("recall", "t", "x", "--k", "0"), 2, "--k"),
    ],
)
def test_mistakes_are_one_line(
    ledger: Ledger, call: Any, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ledger.append([HumanMessage("a word")], thread_id="t")
    done, out, err = call(*arguments)
    assert (done, out) == (code, "")
    assert said in err
