"""Compaction inserted into graphs that exist already."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from langledger import AsyncLedger, Ledger, insert_compaction
from langledger.compaction.validity import provider_problems
from langledger.database import AsyncDatabase, Database
from langledger.errors import ConfigurationError, WindowUnknownError
from langledger.tokens import count_message
from tests.support.scripted import ScriptedModel

WINDOW = 4000
CONFIG = {"configurable": {"thread_id": "g"}, "recursion_limit": 200}


@tool
def work(n: int) -> str:
    """Work."""
    return f"result {n}\n" + "log line of the tool\n" * 80


def step(n: int) -> AIMessage:
    return AIMessage(f"Step {n}.", tool_calls=[{"name": "work", "args": {"n": n}, "id": f"c{n}"}])


def script(steps: int = 16) -> list[AIMessage]:
    return [*(step(n) for n in range(steps)), AIMessage("Finished.")]


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database)


def route(state: MessagesState) -> str:
    return "tools" if state["messages"][-1].tool_calls else END


def builder_with(model: ScriptedModel, *, path_map: bool) -> StateGraph:
    builder = StateGraph(MessagesState)
    builder.add_node("llm", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode([work]))
    builder.add_edge(START, "llm")
    builder.add_conditional_edges("llm", route, ["tools", END] if path_map else None)
    builder.add_edge("tools", "llm")
    return builder


def check(result: dict, model: ScriptedModel, steps: int = 16) -> None:
    assert len(result["messages"]) == 2 * steps + 2
    assert result["messages"][-1].content == "Finished."
    assert len(model.sent) == steps + 1  # the LLM ran once a step
    for view in model.sent:
        assert provider_problems(view) == []
        assert sum(map(count_message, view)) <= 0.85 * WINDOW
        assert any(m.content == "Go." for m in view)


@pytest.mark.parametrize("visible", [True, False])
@pytest.mark.parametrize("path_map", [True, False])
def test_static_and_conditional_edges(ledger: Ledger, path_map: bool, visible: bool) -> None:
    model = ScriptedModel(script=script())
    builder = builder_with(model, path_map=path_map)
    insert_compaction(builder, before=["llm"], ledger=ledger, window=WINDOW, visible=visible)
    graph = builder.compile(checkpointer=InMemorySaver())
    result = graph.invoke({"messages": [HumanMessage("Go.")]}, CONFIG)
    check(result, model)
    assert len(ledger.compactions("g")) >= 2
    assert [e.message for e in ledger.history("g")] == result["messages"]
    nodes = set(graph.get_graph().nodes)
    assert ("llm.compaction" in nodes) == visible


async def test_awaited(async_database: AsyncDatabase) -> None:
    ledger = AsyncLedger(async_database)
    model = ScriptedModel(script=script())
    builder = StateGraph(MessagesState)

    async def llm(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder.add_node("llm", llm)
    builder.add_node("tools", ToolNode([work]))
    builder.add_edge(START, "llm")
    builder.add_conditional_edges("llm", route)
    builder.add_edge("tools", "llm")
    insert_compaction(builder, before=["llm"], ledger=ledger, window=WINDOW)
    result = await builder.compile().ainvoke({"messages": [HumanMessage("Go.")]}, CONFIG)
    check(result, model)
    assert len(await ledger.compactions("g")) >= 2


def test_the_llm_node_keeps_its_name_and_the_state_its_messages(ledger: Ledger) -> None:
    model = ScriptedModel(script=script())
    builder = insert_compaction(
        builder_with(model, path_map=True), before=["llm"], ledger=ledger, window=WINDOW
    )
    graph = builder.compile()
    names = set()
    for update in graph.stream({"messages": [HumanMessage("Go.")]}, CONFIG, stream_mode="updates"):
        names |= set(update)
        assert "Record of the work" not in str(update)
    assert names == {"llm", "tools"}


def test_doing_it_again_changes_nothing(ledger: Ledger) -> None:
    model = ScriptedModel(script=script())
    builder = builder_with(model, path_map=True)
    edges = set(builder.edges)
    for _ in range(2):
        insert_compaction(builder, before=["llm"], ledger=ledger, window=WINDOW)
    assert builder.edges == edges
    graph = builder.compile()
    assert sorted(n for n in graph.get_graph().nodes if "compaction" in n) == ["llm.compaction"]
    check(graph.invoke({"messages": [HumanMessage("Go.")]}, CONFIG), model)


def test_a_join(ledger: Ledger) -> None:
    model = ScriptedModel(script=["joined"])
    builder = StateGraph(MessagesState)
    builder.add_node("a", lambda state: {"messages": [HumanMessage("from a")]})
    builder.add_node("b", lambda state: {"messages": [HumanMessage("from b")]})
    builder.add_node("llm", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge(["a", "b"], "llm")
    insert_compaction(builder, before=["llm"], ledger=ledger, window=WINDOW)
    result = builder.compile().invoke({"messages": [HumanMessage("Go.")]}, CONFIG)
    assert [m.content for m in result["messages"]] == ["Go.", "from a", "from b", "joined"]
    assert len(model.sent) == 1


class PydanticState(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    seen: Annotated[int, operator.add] = 0


@dataclass
class DataclassState:
    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
    seen: Annotated[int, operator.add] = 0


@pytest.mark.parametrize("schema", [PydanticState, DataclassState])
def test_states_of_other_kinds(ledger: Ledger, schema: type) -> None:
    model = ScriptedModel(script=script())

    def llm(state: Any) -> dict[str, Any]:
        assert isinstance(state, schema)
        return {"messages": [model.invoke(state.messages)], "seen": 1}

    def next_node(state: Any) -> Literal["tools", "__end__"]:
        return "tools" if state.messages[-1].tool_calls else END

    builder = StateGraph(schema)
    builder.add_node("llm", llm)
    builder.add_node("tools", ToolNode([work]))
    builder.add_edge(START, "llm")
    builder.add_conditional_edges("llm", next_node)
    builder.add_edge("tools", "llm")
    insert_compaction(builder, before=["llm"], ledger=ledger, window=WINDOW)
    result = builder.compile().invoke({"messages": [HumanMessage("Go.")]}, CONFIG)
    check(result, model)
    assert result["seen"] == 17


def test_a_node_that_hands_back_its_whole_list_puts_no_summary_in_the_state(ledger: Ledger) -> None:
    model = ScriptedModel(script=script())
    builder = StateGraph(MessagesState)
    builder.add_node("llm", lambda s: {"messages": [*s["messages"], model.invoke(s["messages"])]})
    builder.add_node("tools", ToolNode([work]))
    builder.add_edge(START, "llm")
    builder.add_conditional_edges("llm", route)
    builder.add_edge("tools", "llm")
    insert_compaction(builder, before=["llm"], ledger=ledger, window=WINDOW)
    result = builder.compile().invoke({"messages": [HumanMessage("Go.")]}, CONFIG)
    check(result, model)
    results = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    assert all("log line of the tool" in m.content for m in results)


def test_a_node_of_its_own_gives_the_view_under_another_key(ledger: Ledger) -> None:
    class State(MessagesState):
        llm_input_messages: list[BaseMessage]

    model = ScriptedModel(script=script())
    builder = StateGraph(State)
    builder.add_node("compact", ledger.compaction_node(window=WINDOW))
    builder.add_node("llm", lambda s: {"messages": [model.invoke(s["llm_input_messages"])]})
    builder.add_node("tools", ToolNode([work]))
    builder.add_edge(START, "compact")
    builder.add_edge("compact", "llm")
    builder.add_conditional_edges("llm", route)
    builder.add_edge("tools", "compact")
    result = builder.compile().invoke({"messages": [HumanMessage("Go.")]}, CONFIG)
    check(result, model)


def test_a_subgraph_has_a_view_of_its_own(ledger: Ledger) -> None:
    inner_model, outer_model = ScriptedModel(script=script()), ScriptedModel(script=["outer"])
    inner = builder_with(inner_model, path_map=True)
    insert_compaction(inner, before=["llm"], ledger=ledger, window=WINDOW)
    outer = StateGraph(MessagesState)
    outer.add_node("worker", inner.compile())
    outer.add_node("llm", lambda s: {"messages": [outer_model.invoke(s["messages"])]})
    outer.add_edge(START, "worker")
    outer.add_edge("worker", "llm")
    insert_compaction(outer, before=["llm"], ledger=ledger, window=200_000)
    graph = outer.compile(checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("Go.")]}, CONFIG)
    assert {r.scope for r in ledger.compactions("g")} == {"worker"}
    assert not [m for m in outer_model.sent[0] if "langledger" in m.additional_kwargs]


def test_a_graph_can_read_entries_back(ledger: Ledger) -> None:
    asked = AIMessage(
        "", tool_calls=[{"name": "recall_history", "args": {"reference": "#3"}, "id": "r"}]
    )
    model = ScriptedModel(script=[*(step(n) for n in range(16)), asked, AIMessage("Finished.")])
    builder = StateGraph(MessagesState)
    builder.add_node("llm", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode([work, ledger.recall_tool()]))
    builder.add_edge(START, "llm")
    builder.add_conditional_edges("llm", route)
    builder.add_edge("tools", "llm")
    insert_compaction(builder, before=["llm"], ledger=ledger, window=WINDOW, lookup=True)
    result = builder.compile().invoke({"messages": [HumanMessage("Go.")]}, CONFIG)
    assert "result 0" in result["messages"][-2].content
    assert "recall_history" in model.sent[-1][0].content


@pytest.mark.parametrize("before", [[], "llm", ["nobody"]])
def test_what_is_not_a_list_of_nodes_is_refused(ledger: Ledger, before: Any) -> None:
    builder = builder_with(ScriptedModel(script=script()), path_map=True)
    with pytest.raises(ConfigurationError):
        insert_compaction(builder, before=before, ledger=ledger, window=WINDOW)
    assert sorted(builder.nodes) == ["llm", "tools"]


def test_the_window_must_be_known_when_inserting(ledger: Ledger) -> None:
    builder = builder_with(ScriptedModel(script=script()), path_map=True)
    with pytest.raises(WindowUnknownError):
        insert_compaction(builder, before=["llm"], ledger=ledger)
