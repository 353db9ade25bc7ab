"""An agent of ``create_agent`` with the middleware, from outside: what a user and their UI see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langledger import AsyncLedger, Ledger
from langledger.compaction.validity import provider_problems
from tests.support.scripted import ScriptedModel

STEPS = 24
SUMMARY = "The agent measured stations as asked [#2] and noted what each showed."
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "stations"}, "recursion_limit": 200}
TASK = {"messages": [HumanMessage("Measure every station. Never round a value.")]}


@tool
def measure(station: str) -> str:
    """Measure a station."""
    return f"{station}: " + "value 17.25 at depth 3; " * 30


def measuring() -> list[AIMessage]:
    calls = [
        AIMessage(
            f"Station {number} is next.",
            tool_calls=[
                {"name": "measure", "args": {"station": f"S-{number}"}, "id": f"c{number}"}
            ],
        )
        for number in range(1, STEPS + 1)
    ]
    return [*calls, AIMessage("All stations are measured.")]


def agent_of(ledger: Ledger | AsyncLedger, saver: InMemorySaver, **options: Any) -> tuple[Any, Any]:
    model = ScriptedModel(script=measuring(), profile={"max_input_tokens": 4000})
    middleware = ledger.middleware(**options)
    return create_agent(model, [measure], middleware=[middleware], checkpointer=saver), model


def check_views(model: ScriptedModel) -> None:
    for view in model.sent:
        assert provider_problems(view) == []
        assert any("Never round a value." in message.text for message in view)


@pytest.fixture
def ledger(dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(dsn) as opened:
        yield opened


def test_no_stream_shows_a_summary(ledger: Ledger) -> None:
    writer = ScriptedModel(script=[SUMMARY])
    agent, model = agent_of(ledger, InMemorySaver(), model=writer)
    modes = ["messages", "updates", "values", "custom", "tasks", "debug"]
    shown = [(mode, str(event)) for mode, event in agent.stream(TASK, CONFIG, stream_mode=modes)]
    assert writer.sent, "the summary model was asked"
    assert any(SUMMARY in message.text for view in model.sent for message in view)
    assert [mode for mode, text in shown if "measured stations as asked" in text] == []
    assert {mode for mode, text in shown if "tokens_after" in text} == {"custom"}
    check_views(model)


async def test_no_event_shows_a_summary(dsn: str) -> None:
    async with AsyncLedger.from_conn_string(dsn) as ledger:
        writer = ScriptedModel(script=[SUMMARY])
        agent, model = agent_of(ledger, InMemorySaver(), model=writer)
        events = [event["data"] async for event in agent.astream_events(TASK, CONFIG, version="v2")]
        assert writer.sent, "the summary model was asked"
        # What goes into the agent's model is the view; what comes out of anything is shown.
        shown = [str((data.get("output"), data.get("chunk"))) for data in events]
        assert [text for text in shown if "measured stations as asked" in text] == []
        assert any("All stations are measured." in text for text in shown)
        assert len(await ledger.compactions("stations")) >= 2
        check_views(model)


def test_the_state_is_the_user_s_own(ledger: Ledger) -> None:
    saver = InMemorySaver()
    agent, _ = agent_of(ledger, saver)
    result = agent.invoke(TASK, CONFIG)
    assert set(result) == {"messages"}
    assert len(result["messages"]) == 2 * STEPS + 2
    assert [entry.message for entry in ledger.history("stations")] == result["messages"]
    assert set(agent.get_graph().nodes) == {"__start__", "model", "tools", "__end__"}


def test_the_next_process_goes_on_from_the_same_view(dsn: str) -> None:
    saver = InMemorySaver()
    with Ledger.from_conn_string(dsn) as first:
        agent, before = agent_of(first, saver)
        agent.invoke(TASK, CONFIG)
        compactions = first.compactions("stations")
    with Ledger.from_conn_string(dsn) as second:
        agent, after = agent_of(second, saver)
        after.script = [AIMessage("It was 17.25.")]
        agent.invoke({"messages": [HumanMessage("What was the value at S-1?")]}, CONFIG)
        assert second.compactions("stations") == compactions
    # The last view, the answer to it, what bears on the question, and the question: nothing is
    # sent anew.
    last = before.sent[-1]
    assert after.sent[0][: len(last)] == last
    answer, recalled, question = (message.text for message in after.sent[0][len(last) :])
    assert answer == "All stations are measured."
    assert "S-1: value 17.25" in recalled
    assert question == "What was the value at S-1?"
