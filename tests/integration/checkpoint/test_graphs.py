"""Whole graphs: wide ones, forks, subgraphs, removed messages, several processes at once."""

from __future__ import annotations

import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Send

from langledger.checkpoint import LedgerSaver
from langledger.database import Database

CONFIG: Any = {"configurable": {"thread_id": "thread"}}


class Wide(TypedDict, total=False):
    done: Annotated[list[int], operator.add]


def wide(saver: LedgerSaver, width: int) -> Any:
    builder = StateGraph(Wide)
    builder.add_node("plan", lambda state: {})
    builder.add_node("work", lambda task: {"done": [task["n"]]})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges(
        "plan", lambda state: [Send("work", {"n": n}) for n in range(width)], ["work"]
    )
    return builder.compile(checkpointer=saver)


def test_a_thousand_parallel_tasks(saver: LedgerSaver, cold: LedgerSaver, rows: Any) -> None:
    result = wide(saver, 1000).invoke({}, CONFIG)
    assert sorted(result["done"]) == list(range(1000))
    found = list(cold.list(CONFIG))
    writes = [w for t in found for w in t.pending_writes or [] if w[1] == "done"]
    assert sorted(w[2][0] for w in writes) == list(range(1000))
    sizes = rows("SELECT octet_length(log) AS n FROM {schema}.checkpoint")
    assert max(size["n"] for size in sizes) < 40_000  # the checkpoint that holds all the tasks
    assert sum(size["n"] for size in sizes) < 200_000


class Delta(TypedDict, total=False):
    messages: Annotated[
        list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=5)
    ]


def delta_chat(saver: LedgerSaver) -> Any:
    def answer(state: Delta) -> Any:
        return {
            "messages": [
                AIMessage(f"answer {len(state['messages'])}", id=f"a{len(state['messages'])}")
            ]
        }

    builder = StateGraph(Delta).add_node("llm", answer)
    return builder.add_edge(START, "llm").add_edge("llm", END).compile(checkpointer=saver)


def told(state: Any) -> list[str]:
    return [message.content for message in state.values["messages"]]


def test_pruned_delta_threads_keep_their_state(
    saver: LedgerSaver, database: Database, cold: LedgerSaver, rows: Any
) -> None:
    graph = delta_chat(saver)
    for turn in range(12):
        graph.invoke({"messages": [HumanMessage(f"turn {turn}", id=f"h{turn}")]}, CONFIG)
    before = told(graph.get_state(CONFIG))
    count = len(list(saver.list(CONFIG)))
    saver.prune(["thread"])
    assert len(list(cold.list(CONFIG))) == 1
    assert told(delta_chat(LedgerSaver(database)).get_state(CONFIG)) == before
    graph.invoke({"messages": [HumanMessage("after", id="after")]}, CONFIG)
    assert told(graph.get_state(CONFIG))[:-1] == [*before, "after"]
    saver.prune(["thread"])  # what the first one hid is dropped when nothing needs it
    assert told(delta_chat(cold).get_state(CONFIG))[:-1] == [*before, "after"]
    left = rows("SELECT sum(octet_length(log)) AS n FROM {schema}.checkpoint")[0]["n"]
    assert left < 100 * count


def test_delta_threads_can_be_copied_forked_and_lose_runs(saver: LedgerSaver, cold: Any) -> None:
    graph = delta_chat(saver)
    for turn in range(8):
        config = CONFIG | {"metadata": {"run_id": f"run {turn}"}}
        graph.invoke({"messages": [HumanMessage(f"turn {turn}", id=f"h{turn}")]}, config)
    before = told(graph.get_state(CONFIG))
    saver.copy_thread("thread", "copy")
    copy: Any = {"configurable": {"thread_id": "copy"}}
    assert told(delta_chat(cold).get_state(copy)) == before
    saver.delete_for_runs(["run 1", "run 3", "run 6"])
    assert told(delta_chat(cold).get_state(CONFIG)) == before
    runs = {t.metadata.get("run_id") for t in cold.list(CONFIG)}
    assert runs == {f"run {turn}" for turn in (0, 2, 4, 5, 7)}
    old = next(s for s in graph.get_state_history(copy) if len(s.values["messages"]) == 6)
    forked = graph.update_state(old.config, {"messages": [HumanMessage("fork", id="f")]})
    assert told(graph.get_state(forked)) == [*before[:6], "fork"]
    assert told(delta_chat(cold).get_state(forked)) == [*before[:6], "fork"]


def test_a_state_that_loses_messages_is_smaller_but_the_entries_stay(
    saver: LedgerSaver, cold: LedgerSaver, rows: Any
) -> None:
    builder = StateGraph(MessagesState).add_node("llm", lambda state: {})
    graph = builder.add_edge(START, "llm").compile(checkpointer=saver)
    messages = [HumanMessage(f"m{n}", id=str(n)) for n in range(20)]
    graph.invoke({"messages": messages}, CONFIG)
    graph.update_state(CONFIG, {"messages": [RemoveMessage(id=str(n)) for n in range(15)]})
    found = cold.get_tuple(CONFIG)
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == messages[15:]
    assert rows("SELECT count(*) AS n FROM {schema}.entry WHERE kind = 'message'")[0]["n"] == 20


def test_a_channel_the_graph_does_not_know_keeps_its_value(saver: LedgerSaver, cold: Any) -> None:
    class Old(TypedDict, total=False):
        kept: str
        shared: int

    class New(TypedDict, total=False):
        shared: int

    def graph(schema: Any) -> Any:
        builder = StateGraph(schema).add_node("n", lambda state: {"shared": 1})
        return builder.add_edge(START, "n").compile(checkpointer=saver)

    graph(Old).invoke({"kept": "precious", "shared": 0}, CONFIG)
    graph(New).invoke({"shared": 5}, CONFIG)
    assert cold.get_tuple(CONFIG).checkpoint["channel_values"]["kept"] == "precious"
    assert graph(Old).get_state(CONFIG).values == {"kept": "precious", "shared": 1}


def test_conversations_on_one_saver_do_not_mix(saver: LedgerSaver, cold: LedgerSaver) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node(
        "llm", lambda state: {"messages": [AIMessage(f"re: {state['messages'][-1].content}")]}
    )
    graph = builder.add_edge(START, "llm").compile(checkpointer=saver)

    def talk(n: int) -> None:
        for turn in range(5):
            config: Any = {"configurable": {"thread_id": f"thread {n}"}}
            graph.invoke({"messages": [("user", f"{n} says {turn}")]}, config)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(talk, range(16)))
    for n in range(16):
        found = cold.get_tuple({"configurable": {"thread_id": f"thread {n}"}})
        assert found is not None
        said = [m.content for m in found.checkpoint["channel_values"]["messages"]]
        assert said == [f"{p}{n} says {turn}" for turn in range(5) for p in ("", "re: ")]


async def test_both_ways_on_either_pool(database: Database, async_database: Any) -> None:
    def build(saver: LedgerSaver) -> Any:
        builder = StateGraph(MessagesState).add_node("n", lambda s: {"messages": [AIMessage("ok")]})
        return builder.add_edge(START, "n").compile(checkpointer=saver)

    for name, opened in (("blocking", database), ("async", async_database)):
        graph = build(LedgerSaver(opened))
        config: Any = {"configurable": {"thread_id": name}}
        await graph.ainvoke({"messages": [("user", "awaited")]}, config)
        state = await graph.aget_state(config)
        assert [m.content for m in state.values["messages"]] == ["awaited", "ok"]
