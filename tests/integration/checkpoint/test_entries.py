"""A message is one row, whoever stores it first: the checkpointer or the ledger."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from langledger import entries
from langledger.checkpoint import LedgerSaver
from langledger.database import Database
from langledger.entries import Location
from langledger.operations import run

HERE = Location("default", "thread")
CONFIG: Any = {"configurable": {"thread_id": "thread"}}


def history(database: Database) -> list[BaseMessage]:
    return [entry.message for entry in run(entries.history(HERE), database)]


def chat(saver: LedgerSaver) -> Any:
    def answer(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    builder = StateGraph(MessagesState).add_node("llm", answer).add_edge(START, "llm")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize(
    "typed",
    [
        {"role": "user", "content": "hello"},
        ("user", "hello"),
        HumanMessage("hello"),
        HumanMessage("hello", id="mine"),
    ],
    ids=["dict", "pair", "message", "message with id"],
)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_turn_is_two_rows(
    typed: Any, durability: Any, saver: LedgerSaver, database: Database, rows: Any
) -> None:
    graph = chat(saver)
    for _ in range(3):
        state = graph.invoke({"messages": [typed]}, CONFIG, durability=durability)
    assert history(database) == state["messages"]
    kinds = {row["kind"] for row in rows("SELECT kind FROM {schema}.entry")}
    assert kinds == {"message"}


@pytest.mark.parametrize("first", ["saver", "ledger"])
def test_what_the_other_stored_is_not_stored_again(
    first: str, put: Any, database: Database, cold: LedgerSaver
) -> None:
    messages = [
        HumanMessage("a", id="1"),
        AIMessage("b", id="2"),
        ToolMessage("c", tool_call_id="x"),
    ]
    messages[2].id = "3"
    writers = {
        "saver": lambda: put({"messages": messages}),
        "ledger": lambda: run(entries.append(HERE, messages), database),
    }
    writers.pop(first)()
    next(iter(writers.values()))()
    assert history(database) == messages
    found = cold.get_tuple(CONFIG)
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == messages


def test_an_input_without_id_is_the_message_that_gets_one(
    saver: LedgerSaver, put: Any, database: Database, rows: Any, cold: LedgerSaver
) -> None:
    first = put({"__start__": {"messages": [HumanMessage("yes")]}})
    assert history(database) == []  # nothing but a draft so far
    saver.put_writes(first, [("messages", [HumanMessage("yes")])], "task")
    run(entries.append(HERE, [HumanMessage("yes", id="1")]), database)
    put({"messages": [HumanMessage("yes", id="1")]}, parent=first)
    assert history(database) == [HumanMessage("yes", id="1")]
    assert len(rows("SELECT seq FROM {schema}.entry")) == 1
    found = cold.get_tuple(first)
    assert found is not None
    assert found.checkpoint["channel_values"] == {"__start__": {"messages": [HumanMessage("yes")]}}
    assert found.pending_writes == [("task", "messages", [HumanMessage("yes")])]


@pytest.mark.parametrize("first", [["middleware"] * 3, ["saver"] * 3, ["saver", "middleware"] * 2])
def test_an_input_stored_late_is_the_message_that_is_there(
    first: list[str], put: Any, database: Database, cold: LedgerSaver, rows: Any
) -> None:
    state: list[BaseMessage] = []
    parent = None
    for turn, who in enumerate(first):
        said = HumanMessage("continue", id=f"said {turn}")
        given = {"messages": [*state], "__start__": {"messages": [HumanMessage("continue")]}}
        if who == "middleware":
            run(entries.append(HERE, [*state, said]), database)
        parent = put(given if state else {"__start__": given["__start__"]}, parent=parent)
        state += [said, AIMessage("done", id=f"done {turn}")]
        run(entries.append(HERE, state), database)
        found = cold.get_tuple(parent)
        assert found is not None
        assert found.checkpoint["channel_values"].get("__start__") == given["__start__"]
        parent = put({"messages": state}, parent=parent)
    assert history(database) == state
    assert len(rows("SELECT seq FROM {schema}.entry")) == len(state)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_the_same_words_in_one_input_stay_in_order(
    durability: Any, saver: LedgerSaver, database: Database, cold: LedgerSaver
) -> None:
    said = [m for n in range(4) for m in (AIMessage(f"step {n} done"), HumanMessage("continue"))]
    state = chat(saver).invoke({"messages": said}, CONFIG, durability=durability)
    assert [m.content for m in state["messages"]] == [*(m.content for m in said), "answer 8"]
    assert history(database) == state["messages"]
    again = chat(cold).invoke({"messages": said}, CONFIG, durability=durability)
    assert history(database) == again["messages"]


def test_what_a_view_was_made_with_is_no_entry(
    put: Any, database: Database, cold: LedgerSaver
) -> None:
    said = HumanMessage("go on", id="1")
    made = HumanMessage(
        "[Record of the work so far]",
        id="langledger-view",
        additional_kwargs={"langledger": {"origin": "compaction", "generation": 1}},
    )
    put({"messages": [said], "llm_input_messages": [made, said], "alone": made})
    assert history(database) == [said]
    found = cold.get_tuple(CONFIG)
    assert found is not None
    values = found.checkpoint["channel_values"]
    assert (values["llm_input_messages"], values["alone"]) == ([made, said], made)


def test_who_counts_a_message_later_is_heeded(put: Any, database: Database, rows: Any) -> None:
    messages = [HumanMessage(f"message {n}", id=str(n)) for n in range(120)]
    put({"messages": messages})
    for count in (2, len(messages)):
        run(entries.append(HERE, messages[:count], tokens=[7] * count), database)
        (found,) = rows("SELECT count(tokens) AS n, max(tokens) AS size FROM {schema}.entry")
        assert found == {"n": count, "size": 7}
    run(entries.append(HERE, messages[:2], tokens=[8, 8]), database)
    assert rows("SELECT max(tokens) AS size FROM {schema}.entry") == [{"size": 7}]


def test_the_same_words_again_are_another_message(saver: LedgerSaver, database: Database) -> None:
    graph = chat(saver)
    for _ in range(3):
        graph.invoke({"messages": [("user", "yes")]}, CONFIG)
    said = [m for m in history(database) if m.type == "human"]
    assert [m.content for m in said] == ["yes"] * 3
    assert len({m.id for m in said}) == 3


def test_messages_that_never_get_an_id_are_entries_too(
    put: Any, database: Database, cold: LedgerSaver
) -> None:
    messages = [HumanMessage("yes"), AIMessage("ok"), HumanMessage("yes")]
    put({"log": messages})
    assert [m.content for m in history(database)] == ["yes", "ok"]  # one entry for equal content
    found = cold.get_tuple(CONFIG)
    assert found is not None
    assert found.checkpoint["channel_values"]["log"] == messages


def test_an_entry_of_a_subgraph_names_its_scope(put: Any, database: Database) -> None:
    put({"messages": [HumanMessage("inside", id="1")]}, namespace="agent:1ef0|tools:2")
    (entry,) = run(entries.history(HERE), database)
    assert entry.scope == "agent|tools"


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return f"content of {path}: " + "line\n" * 200


def agent_turns(saver: LedgerSaver, turns: int) -> Any:
    calls = [
        {"name": "read_file", "args": {"path": f"{name}.py"}, "id": f"call-{name}"}
        for name in "abc"
    ]
    answers = [
        message
        for turn in range(turns)
        for message in (
            AIMessage("", tool_calls=[c | {"id": f"{c['id']}-{turn}"} for c in calls]),
            AIMessage(f"done {turn}"),
        )
    ]

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

    agent = create_agent(Model(messages=iter(answers)), [read_file], checkpointer=saver)
    for turn in range(turns):
        state = agent.invoke({"messages": [{"role": "user", "content": f"go {turn}"}]}, CONFIG)
    return state


def test_an_agent_with_parallel_tools_stores_each_message_once(
    saver: LedgerSaver, database: Database, rows: Any, cold: LedgerSaver
) -> None:
    state = agent_turns(saver, 4)
    stored = history(database)
    assert sorted(m.id or "" for m in stored) == sorted(m.id for m in state["messages"])
    others = [m for m in state["messages"] if m.type != "tool"]
    assert [m for m in stored if m.type != "tool"] == others  # parallel tools end in any order
    values = rows(
        "SELECT coalesce(sum(octet_length(body)), 0) AS n FROM {schema}.entry "
        "WHERE kind <> 'message'"
    )
    assert values[0]["n"] < 1000  # the tool calls carry the whole state, by reference
    found = cold.get_tuple(CONFIG)
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == state["messages"]
