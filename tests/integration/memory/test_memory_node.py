"""A graph of one's own with memory, on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from langledger import AsyncLedger, Ledger, MemoryNode
from langledger.compaction.validity import provider_problems
from langledger.database import AsyncDatabase, Database
from langledger.errors import ConfigurationError
from tests.support.scripted import ScriptedModel

FACT = "The billing-gateway listens on port 8431."
QUESTION = "Which port does the billing-gateway listen on?"


class State(TypedDict, total=False):
    messages: Annotated[list[BaseMessage], add_messages]
    llm_input_messages: list[BaseMessage]


def graph(ledger: Ledger | AsyncLedger, model: ScriptedModel, **options: Any) -> Any:
    def llm(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(state["llm_input_messages"])]}

    builder = StateGraph(State)
    builder.add_node("memory", ledger.memory_node(**options))
    builder.add_node("llm", llm)
    builder.add_node("remember", ledger.memory_node(output_messages_key=None, **options))
    builder.add_edge(START, "memory")
    builder.add_edge("memory", "llm")
    builder.add_edge("llm", "remember")
    return builder.compile()


def config(thread_id: str, user_id: str = "ann") -> Any:
    return {"configurable": {"thread_id": thread_id, "user_id": user_id}}


@pytest.fixture
def ledger(database: Database) -> Iterator[Ledger]:
    made = Ledger(database, tenant="acme")
    yield made
    made.recalling.close()


def test_it_records_the_question_and_the_answer(ledger: Ledger) -> None:
    model = ScriptedModel(script=["Noted."])
    result = graph(ledger, model).invoke({"messages": [HumanMessage(FACT)]}, config("t"))
    assert [m.text for m in result["messages"]] == [FACT, "Noted."]
    assert [e.message.text for e in ledger.history("t")] == [FACT, "Noted."]
    assert model.sent == [[result["messages"][0]]]


def test_it_recalls_what_the_state_no_longer_holds(ledger: Ledger) -> None:
    model = ScriptedModel(script=["Noted."])
    app = graph(ledger, model)
    app.invoke({"messages": [HumanMessage(FACT)]}, config("t"))
    events = list(
        app.stream({"messages": [HumanMessage(QUESTION)]}, config("t"), stream_mode="custom")
    )
    [recalled, question] = model.sent[-1]
    assert FACT in recalled.text
    assert question.text == QUESTION
    assert 1 in events[0]["langledger"]["recall"]["entries"]
    app.invoke({"messages": [HumanMessage("hi")]}, config("t"))
    assert [m.text for m in model.sent[-1]] == ["hi"]
    assert not [e for e in ledger.history("t") if "recalled" in e.message.text]


def test_what_was_brought_stays_through_the_turn(ledger: Ledger) -> None:
    node = ledger.memory_node()
    ledger.append([HumanMessage(FACT)], thread_id="t")
    turn: list[BaseMessage] = [HumanMessage(QUESTION, id="q")]
    first = node.invoke({"messages": turn}, config("t"))["llm_input_messages"]
    call = {"name": "look", "args": {}, "id": "c"}
    turn += [
        AIMessage("", tool_calls=[call], id="a"),
        ToolMessage("8431", tool_call_id="c", id="r"),
    ]
    second = node.invoke({"messages": turn}, config("t"))["llm_input_messages"]
    assert len(first) == 2
    assert second == [*first, *turn[1:]]
    assert provider_problems(second) == []


def test_facts_of_the_user_come_from_other_threads(ledger: Ledger) -> None:
    model = ScriptedModel(script=["Fine."])
    app = graph(ledger, model)
    app.invoke({"messages": [HumanMessage("I prefer tabs over spaces.")]}, config("monday"))
    app.invoke({"messages": [HumanMessage("Format it.")]}, config("tuesday"))
    assert "I prefer tabs over spaces" in model.sent[-1][0].text
    app.invoke({"messages": [HumanMessage("Format it.")]}, config("wednesday", user_id="bob"))
    assert len(model.sent[-1]) == 1


def test_facts_are_written_after_the_answer(ledger: Ledger) -> None:
    known_while_answering: list[int] = []

    def answer(_: list[BaseMessage]) -> AIMessage:
        known_while_answering.append(len(ledger.facts("ann")))
        return AIMessage("Fine.")

    said = [HumanMessage("I prefer tabs over spaces.", id="1"), HumanMessage("I'm vegan.", id="2")]
    graph(ledger, ScriptedModel(script=[answer])).invoke({"messages": said}, config("t"))
    assert known_while_answering == [0]
    assert {fact.sources[0]["entry_id"] for fact in ledger.facts("ann")} == {1, 2}


def test_facts_wait_for_the_end_of_a_turn_and_are_made_up_for(ledger: Ledger) -> None:
    node = ledger.memory_node()
    call = {"name": "look", "args": {}, "id": "c"}
    turn: list[BaseMessage] = [
        HumanMessage("I prefer tabs over spaces.", id="h"),
        AIMessage("", tool_calls=[call], id="a"),
        ToolMessage("there", tool_call_id="c", id="r"),
    ]
    for length in (1, 2, 3):
        node.invoke({"messages": turn[:length]}, config("t"))
        assert ledger.facts("ann") == []
    turn += [AIMessage("Done.", id="d"), HumanMessage("Thanks.", id="h2")]
    node.invoke({"messages": turn}, config("t"))
    assert [fact.text for fact in ledger.facts("ann")] == ["I prefer tabs over spaces"]
    node.invoke({"messages": []}, config("t"))


def test_half_a_surrogate_pair_costs_no_answer(ledger: Ledger) -> None:
    asked = HumanMessage(f"{QUESTION} \ud800")
    ledger.append([HumanMessage(FACT)], thread_id="t")
    [recalled, question] = ledger.memory_node().invoke({"messages": [asked]}, config("t"))[
        "llm_input_messages"
    ]
    assert FACT in recalled.text
    assert question.text == asked.text
    memory = ledger.chat_memory("t", max_token_limit=500)
    assert FACT in memory.load_memory_variables({"input": asked})["history"]


def test_bad_arguments(ledger: Ledger) -> None:
    for options in ({"messages_key": ""}, {"user_id": 7}, {"max_recalled_tokens": -1}):
        with pytest.raises(ConfigurationError):
            MemoryNode(ledger, **options)


async def test_awaited(async_database: AsyncDatabase) -> None:
    ledger = AsyncLedger(async_database, tenant="acme")
    model = ScriptedModel(script=["Noted."])
    app = graph(ledger, model)
    await app.ainvoke({"messages": [HumanMessage(FACT)]}, config("t"))
    await app.ainvoke({"messages": [HumanMessage(QUESTION)]}, config("t"))
    assert FACT in model.sent[-1][0].text
    assert await ledger.count("t") == 4
