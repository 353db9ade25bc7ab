"""``pre_model_hook`` of ``create_react_agent``, and the node it is."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent

from langledger import AsyncLedger, Ledger
from langledger.compaction.validity import provider_problems
from langledger.tokens import count_message
from tests.support.scripted import ScriptedModel

WINDOW = 4000
CONFIG = {"configurable": {"thread_id": "t"}, "recursion_limit": 200}
HEAD = "Record of the work so far"

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")


@tool
def work(n: int) -> str:
    """Work."""
    return f"result {n}\n" + "log line of the tool\n" * 80


def script(steps: int = 16) -> list[Any]:
    calls = [{"name": "work", "args": {"n": n}, "id": f"c{n}"} for n in range(steps)]
    return [*(AIMessage(f"Step {n}.", tool_calls=[c]) for n, c in enumerate(calls)), "Finished."]


def agent_with(ledger: Ledger | AsyncLedger, model: ScriptedModel, **options: Any) -> Any:
    return create_react_agent(
        model,
        [work],
        prompt="You work.",
        pre_model_hook=ledger.pre_model_hook(window=WINDOW, **options),
        checkpointer=InMemorySaver(),
    )


def check(result: dict[str, Any], model: ScriptedModel) -> None:
    assert len(result["messages"]) == 34
    assert not [m for m in result["messages"] if "langledger" in m.additional_kwargs]
    assert len(model.sent) == 17
    for view in model.sent:
        assert provider_problems(view) == []
        assert view[0].content == "You work."
        assert "Go." in [m.content for m in view]
        assert sum(map(count_message, view)) <= 0.85 * WINDOW
    assert HEAD in model.sent[-1][1].content


def test_the_model_is_sent_the_view_and_the_state_stays(ledger: Ledger) -> None:
    model = ScriptedModel(script=script())
    check(agent_with(ledger, model).invoke({"messages": [HumanMessage("Go.")]}, CONFIG), model)
    assert len(ledger.compactions("t")) >= 2


async def test_the_same_awaited(async_ledger: AsyncLedger) -> None:
    model = ScriptedModel(script=script())
    agent = agent_with(async_ledger, model)
    check(await agent.ainvoke({"messages": [HumanMessage("Go.")]}, CONFIG), model)
    assert len(await async_ledger.compactions("t")) >= 2


def test_the_summary_is_not_streamed_as_a_message(ledger: Ledger) -> None:
    model = ScriptedModel(script=script())
    streamed: list[BaseMessage] = [
        message
        for message, _ in agent_with(ledger, model).stream(
            {"messages": [HumanMessage("Go.")]}, CONFIG, stream_mode="messages"
        )
    ]
    assert HEAD in str(model.sent[-1])
    assert HEAD not in str(streamed)
    assert len([m for m in streamed if isinstance(m, AIMessage)]) == 17


async def test_nor_by_an_awaited_graph_with_a_node_of_its_own(async_ledger: AsyncLedger) -> None:
    class State(MessagesState):
        llm_input_messages: list[Any]

    async def llm(state: State) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["llm_input_messages"])]}

    model = ScriptedModel(script=["Dry."])
    builder = StateGraph(State)
    builder.add_node("compact", async_ledger.compaction_node(window=WINDOW))
    builder.add_node("llm", llm)
    builder.add_edge(START, "compact")
    builder.add_edge("compact", "llm")
    talk = [
        kind(f"{n}. " + "The wind was weak. " * 45)
        for n in range(12)
        for kind in (HumanMessage, AIMessage)
    ]
    stream = builder.compile().astream(
        {"messages": [*talk, HumanMessage("And now?")]}, CONFIG, stream_mode="messages"
    )
    streamed = [message.content async for message, _ in stream]
    assert HEAD in str(model.sent)
    assert HEAD not in str(streamed)


def test_a_second_thread_and_a_second_process_are_no_trouble(ledger: Ledger) -> None:
    for thread_id in ("one", "two"):
        model = ScriptedModel(script=[*script(), "Once more."])
        config = {**CONFIG, "configurable": {"thread_id": thread_id}}
        saver = InMemorySaver()
        for text in ("Go.", "And?"):
            agent = create_react_agent(
                model,
                [work],
                pre_model_hook=ledger.pre_model_hook(window=WINDOW),
                checkpointer=saver,
            )
            result = agent.invoke({"messages": [HumanMessage(text)]}, config)
        assert len(result["messages"]) == 36
        assert len(model.sent) == 18
        first, second = model.sent[-2:]
        assert second[: len(first)] == first
