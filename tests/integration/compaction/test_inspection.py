"""A view that is made again is the one that was sent."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langledger import Ledger
from langledger.compaction.inspection import ViewedCall, view_for
from langledger.compaction.pairing import UNANSWERED
from langledger.entries import Location
from langledger.operations import run
from tests.support.scripted import ScriptedModel

CONFIG = {"configurable": {"thread_id": "t1"}}
STEPS = 20


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {file_path}\n" + "log line of the tool\n" * 60


def step(n: int) -> AIMessage:
    args = {"file_path": f"src/part_{n}.py", "content": "x = 1\n" * 20}
    call = {"name": "write_file", "args": args, "id": f"call-{n}"}
    return AIMessage(f"Writing part {n}, as the plan says.", tool_calls=[call])


@pytest.fixture
def sent(ledger: Ledger) -> ScriptedModel:
    """A model that was called again and again, through compactions."""
    model = ScriptedModel(script=[*map(step, range(STEPS)), AIMessage("All parts are written.")])
    agent = create_agent(
        model,
        [write_file],
        middleware=[ledger.middleware(window=4000)],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": [HumanMessage("Write all the parts.")]}, CONFIG)
    return model


def seen(ledger: Ledger, answer: int | None = None, thread_id: str = "t1") -> ViewedCall:
    return run(view_for(Location(ledger.tenant, thread_id), answer), ledger.executor)


def test_every_view_is_the_one_that_was_sent(ledger: Ledger, sent: ScriptedModel) -> None:
    answers = [e.entry_id for e in ledger.history("t1") if e.role == "ai"]
    assert len(answers) == len(sent.sent) == STEPS + 1
    assert len(ledger.compactions("t1")) >= 2
    for answer, messages in zip(answers, sent.sent, strict=True):
        mine = [(v.message.type, v.message.content) for v in seen(ledger, answer).messages]
        assert mine == [(m.type, m.content) for m in messages]


def test_each_message_tells_where_it_comes_from(ledger: Ledger, sent: ScriptedModel) -> None:
    origins: set[str] = set()
    history = {e.entry_id: e.message for e in ledger.history("t1")}
    for answer in history:
        for viewed in seen(ledger, answer).messages:
            origins.add(viewed.origin)
            if viewed.origin == "entry":
                assert viewed.entry_id is not None
                assert viewed.message.content == history[viewed.entry_id].content
            elif viewed.origin == "reference":
                assert f"#{viewed.entry_id}" in viewed.message.text
    assert {"entry", "compaction"} <= origins


def test_an_edited_summary_is_in_later_views_alone(ledger: Ledger, sent: ScriptedModel) -> None:
    last = [e.entry_id for e in ledger.history("t1") if e.role == "ai"][-1]
    newest = ledger.compactions("t1")[-1].generation
    before = seen(ledger, last).messages[0].message.content
    ledger.edit_summary("t1", newest, "All is as it should be.")
    assert seen(ledger, last).messages[0].message.content == before
    assert "All is as it should be." in str(seen(ledger).messages[0].message.content)


def test_what_no_entry_is(ledger: Ledger) -> None:
    call = {"name": "look", "args": {}, "id": "c1"}
    lost = ToolMessage("from nowhere", tool_call_id="gone", id="m5")
    said = [
        SystemMessage("Be brief.", id="m1"),
        AIMessage("I begin.", id="m2"),
        HumanMessage("Look.", id="m3"),
        AIMessage("", tool_calls=[call], id="m4"),
        lost,
    ]
    ledger.append(said, thread_id="t2")
    told = [(v.origin, v.entry_id, v.message.text) for v in seen(ledger, None, "t2").messages]
    assert [origin for origin, _, _ in told] == [
        "system", "opening", "entry", "entry", "entry", "stub", "note",
    ]  # fmt: skip
    assert told[0][1:] == (1, "Be brief.")
    assert told[5] == ("stub", None, UNANSWERED)
    assert told[6][1] == 5


def test_of_a_long_view_the_newest_are_shown(ledger: Ledger) -> None:
    ledger.append([HumanMessage(str(n), id=f"h{n}") for n in range(10)], thread_id="t3")
    found = run(view_for(Location(ledger.tenant, "t3"), limit=4), ledger.executor)
    assert [v.entry_id for v in found.messages] == [7, 8, 9, 10]
    assert found.left_out
    assert not seen(ledger, None, "t3").left_out


def test_another_agents_entries_are_not_in_view(ledger: Ledger) -> None:
    from langledger.entries import append

    ledger.append([HumanMessage("mine", id="h1")], thread_id="t4")
    other = Location(ledger.tenant, "t4", "helper")
    run(append(other, [HumanMessage("its own", id="h2")]), ledger.executor)
    assert [v.message.text for v in seen(ledger, None, "t4").messages] == ["mine"]
    theirs = run(view_for(other), ledger.executor)
    assert [v.message.text for v in theirs.messages] == ["its own"]
