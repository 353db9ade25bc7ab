"""An entry as it was recorded, by reference or message id, and the state as it was then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langledger import Ledger
from langledger.database import Database
from langledger.errors import ConfigurationError
from tests.support.scripted import ScriptedModel

CONFIG: Any = {"configurable": {"thread_id": "t1"}}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # noqa: E501 - one picture


@pytest.fixture
def ledger(database: Database) -> Iterator[Ledger]:
    opened = Ledger(database, embeddings="off")
    yield opened
    opened.keeper.close()


def answers(ledger: Ledger, *calls: dict[str, Any]) -> list[str]:
    """Return what an agent's tool answers to these calls in thread t1."""
    script: list[Any] = [
        AIMessage("", tool_calls=[{"name": "get_entry", "args": args, "id": f"g{n}"}])
        for n, args in enumerate(calls)
    ]
    model = ScriptedModel(script=[*script, "done"])
    agent = create_agent(model, [], middleware=[ledger.middleware(window=20_000)])
    found = agent.invoke({"messages": [HumanMessage("Look it up.")]}, CONFIG)["messages"]
    return [str(m.content) for m in found if isinstance(m, ToolMessage)]


def test_an_entry_is_read_raw_by_reference_and_by_message_id(ledger: Ledger) -> None:
    args = {"file_path": "a.py", "content": "x = 1\n"}
    call = {"name": "write_file", "args": args, "id": "c1"}
    picture = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
    said = [
        HumanMessage([{"type": "text", "text": "Like this."}, picture], id="m1"),
        AIMessage("Writing.", tool_calls=[call], id="m2"),
        ToolMessage("wrote a.py", tool_call_id="c1", status="error"),
    ]
    ledger.append(said, thread_id="t1", metadata={"ticket": 7})
    one, by_id, result, none, wrong = answers(
        ledger, {"entry": "#2"}, {"entry": "m2"}, {"entry": "3"}, {"entry": "99"}, {"entry": "x"}
    )
    told = json.loads(one)
    assert one == by_id
    assert told["message_id"] == "m2"
    assert told["metadata"] == {"ticket": 7}
    assert told["message"]["tool_calls"][0]["args"] == args
    assert json.loads(result)["message"]["status"] == "error"
    assert none == "#99: there is no such entry."
    assert "the id of a message of the thread, not 'x'" in wrong
    shown = answers(ledger, {"entry": "m1"})[0]
    assert "Like this." in shown
    assert PIXEL not in shown


def test_a_long_entry_comes_whole_in_parts(ledger: Ledger) -> None:
    text = "\n".join(f"row {n}" for n in range(4000))
    ledger.append([HumanMessage(text, id="long")], thread_id="t1")
    first = answers(ledger, {"entry": "long"})[0]
    parts = int(first.split("]")[0].rsplit(" ", 1)[1])
    told = answers(ledger, *({"entry": "#1", "part": part + 1} for part in range(parts)))
    bare = [part.split("\n", 1)[1].rsplit("\n[To go on", 1)[0] for part in told]
    assert json.loads("".join(bare))["message"]["content"] == text


def test_what_the_tool_gave_is_not_indexed_again(ledger: Ledger) -> None:
    ledger.append([HumanMessage("The port is 8431.", id="m1")], thread_id="t1")
    answers(ledger, {"entry": "m1"})
    assert "tool" not in {hit.role for hit in ledger.recall("8431", thread_id="t1")}


def test_the_state_is_told_as_it_was_after_a_message(ledger: Ledger) -> None:
    said = [HumanMessage("Never use npm.", id="m1"), HumanMessage("Never use yarn.", id="m2")]
    ledger.append(said, thread_id="t1")
    then = ledger.state("t1", at="m1")
    assert then == ledger.state("t1", at=1) == ledger.state("t1", at="#1")
    assert [c.what for c in then.conventions] == ["Never use npm."]
    assert len(ledger.state("t1", at="m2").conventions) == 2
    with pytest.raises(
        ConfigurationError, match="an entry's number or the id of a message of the thread, not 'm9'"
    ):
        ledger.state("t1", at="m9")
