"""Retention: what a policy keeps, what nothing refers to goes, writers are not disturbed."""

from __future__ import annotations

import multiprocessing
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langledger.checkpoint import LedgerSaver, Policy, Pruned
from langledger.database import Database
from langledger.errors import ConfigurationError

CONFIG: Any = {"configurable": {"thread_id": "thread"}}


def grown(put: Any, count: int, *, namespace: str = "", start: int = 0) -> list[Any]:
    """A chain of checkpoints, each with one more message and a large value of its own."""
    config = None
    configs = []
    messages: list[Any] = []
    for n in range(start, start + count):
        messages = [*messages, HumanMessage(f"{namespace} message {n}", id=f"{namespace}{n}")]
        values = {"messages": messages, "file": f"{namespace} content {n} " * 100}
        config = put(
            values, parent=config, namespace=namespace, metadata={"step": n}, version=n + 1
        )
        configs.append(config)
    return configs


def ids(saver: LedgerSaver, config: Any = CONFIG) -> list[str]:
    return [t.checkpoint["id"] for t in saver.list(config)]


def kinds(rows: Any) -> dict[str, int]:
    found = rows("SELECT kind, count(*) AS n FROM {schema}.entry GROUP BY kind")
    return {row["kind"]: row["n"] for row in found}


@pytest.mark.parametrize("keep", [1, 3, 40])
def test_the_newest_are_kept_and_their_entries(
    keep: int, put: Any, saver: LedgerSaver, cold: LedgerSaver, rows: Any
) -> None:
    configs = grown(put, 30)
    wanted = list(cold.list(CONFIG))[:keep]
    pruned = saver.retain("thread", Policy(keep=keep))
    left = min(keep, 30)
    assert pruned == Pruned(30 - left, 30 - left)
    found = list(cold.list(CONFIG))
    assert [(t.config, t.checkpoint, t.metadata) for t in found] == [
        (t.config, t.checkpoint, t.metadata) for t in wanted
    ]
    assert kinds(rows) == {"message": 30, "value": left}  # messages are the ledger's
    assert found[-1].parent_config == (None if keep < 30 else wanted[-1].parent_config)
    assert saver.get_tuple(configs[0]) is None or keep >= 30


def test_messages_go_too_where_asked(put: Any, saver: LedgerSaver, cold: Any, rows: Any) -> None:
    grown(put, 10)
    put({"messages": [HumanMessage("kept", id="kept")]}, parent=None)
    saver.retain("thread", Policy(keep=1, entries=True))
    assert kinds(rows) == {"message": 1}
    assert cold.get_tuple(CONFIG).checkpoint["channel_values"]["messages"][0].content == "kept"


def test_a_stretch_of_several_parts_stays_what_it_is(
    put: Any, saver: LedgerSaver, cold: LedgerSaver
) -> None:
    first = put({"a": 1}, metadata={"step": 1, "run_id": "first"})
    for task in range(20):
        saver.put_writes(first, [("a", "w" * 100)], f"task {task}")
    second = put({"a": 2}, parent=first, metadata={"step": 2, "run_id": "second"})
    for task in range(20):
        saver.put_writes(
            second, [("__interrupt__", f"question {task} " + "q" * 90)], f"task {task}"
        )
    saver.prune(["thread"])
    saver.put_writes(second, [("__resume__", ["yes"])], "task 0")
    for reader in (saver, cold):
        assert len(reader.get_tuple(second).pending_writes) == 21
        assert len(reader.get_tuple(CONFIG).pending_writes) == 21
        assert [len(t.pending_writes) for t in reader.list(CONFIG)] == [21]
        assert len(list(reader.list(None, filter={"run_id": "second"}))) == 1
    assert list(saver.list(None, filter={"run_id": "first"})) == []
    saver.delete_for_runs(["second"])
    assert list(cold.list(CONFIG)) == []


def test_by_age_and_namespace(put: Any, saver: LedgerSaver) -> None:
    grown(put, 4)
    grown(put, 4, namespace="sub")
    saver.retain("thread", Policy(keep=1, since=datetime(2020, 1, 1, tzinfo=UTC)))
    assert len(ids(saver)) == 8  # none is older
    saver.retain("thread", Policy(keep=2, since=datetime.now(UTC), checkpoint_ns="sub"))
    assert len(ids(saver, {"configurable": {"thread_id": "thread", "checkpoint_ns": "sub"}})) == 2
    assert len(ids(saver)) == 6
    dry = saver.retain("thread", Policy(keep=0), dry_run=True)
    assert dry.checkpoints == 6
    assert len(ids(saver)) == 6
    saver.retain("thread", Policy(keep=0))
    assert ids(saver) == []


def test_strategies(put: Any, saver: LedgerSaver, rows: Any) -> None:
    grown(put, 5)
    saver.prune(["thread"], strategy="delete")
    assert ids(saver) == []
    assert kinds(rows) == {"message": 5}
    saver.delete_thread("thread")
    assert kinds(rows) == {}
    assert rows("SELECT thread_id FROM {schema}.thread") == []
    with pytest.raises(ConfigurationError, match="keep_latest, delete"):
        saver.prune(["thread"], strategy="all")
    with pytest.raises(ConfigurationError, match="not one string"):
        saver.prune("thread")


def test_writers_go_on_after_a_prune(put: Any, database: Database, cold: LedgerSaver) -> None:
    writer, pruner = LedgerSaver(database), LedgerSaver(database)
    first = put({"file": "shared content " * 100, "n": 1}, by=writer)
    second = put({"n": 2}, parent=first, by=writer)
    pruner.retain("thread", Policy(keep=1))  # the shared content goes with the first
    put({"file": "shared content " * 100}, parent=second, by=writer)
    found = cold.get_tuple(CONFIG)
    assert found is not None
    assert found.checkpoint["channel_values"] == {"file": "shared content " * 100}


def test_interrupted_graphs_resume_after_a_prune(saver: LedgerSaver, cold: LedgerSaver) -> None:
    class State(MessagesState):
        answers: list[str]

    def ask(state: State) -> Any:
        first = interrupt("first?")
        second = interrupt("second?")
        return {"answers": [first, second], "messages": [AIMessage("thanks")]}

    inner = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()
    builder = StateGraph(State).add_node("inner", inner).add_edge(START, "inner")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"messages": [("user", "hi")], "answers": []}, CONFIG)
    saver.prune(["thread"])
    graph.invoke(Command(resume="one"), CONFIG)
    saver.prune(["thread"])
    result = builder.compile(checkpointer=cold).invoke(Command(resume="two"), CONFIG)
    assert result["answers"] == ["one", "two"]


def test_calls_of_subgraphs_go_with_the_step_they_belong_to(saver: LedgerSaver, rows: Any) -> None:
    inner = StateGraph(MessagesState)
    inner.add_node("think", lambda s: {"messages": [AIMessage("thought")]}).add_edge(START, "think")
    builder = StateGraph(MessagesState).add_node("inner", inner.compile()).add_edge(START, "inner")
    graph = builder.compile(checkpointer=saver)
    for turn in range(5):
        graph.invoke({"messages": [("user", f"turn {turn}")]}, CONFIG)
    saver.prune(["thread"])
    namespaces = {t.config["configurable"]["checkpoint_ns"] for t in saver.list(CONFIG)}
    assert namespaces == {""}
    assert len(graph.get_state(CONFIG).values["messages"]) == 10


def test_idle_threads_are_found(put: Any, saver: LedgerSaver, database: Database) -> None:
    for n in range(250):
        put({"a": n}, thread=f"thread {n:03}")
    later = datetime.now(UTC) + timedelta(seconds=5)
    assert list(saver.idle_threads(before=later)) == [f"thread {n:03}" for n in range(250)]
    assert list(saver.idle_threads(before=later - timedelta(days=1))) == []


def test_a_large_thread_is_pruned_in_steps(put: Any, saver: LedgerSaver, rows: Any) -> None:
    config = None
    for n in range(1500):
        config = put({"n": n}, parent=config)
    assert saver.retain("thread", Policy(keep=5)).checkpoints == 1495
    assert len(ids(saver)) == 5
    assert rows("SELECT count(*) AS n FROM {schema}.checkpoint")[0]["n"] <= 2


def _live(dsn: str, number: int, seconds: float) -> None:
    """Write, read and prune one thread, as one of several processes."""
    rng = random.Random(number)
    stop = time.monotonic() + seconds
    with LedgerSaver.from_conn_string(dsn, pool_size=2) as saver:
        empty: Any = {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}}
        step = 0
        while time.monotonic() < stop:
            step += 1
            found = saver.get_tuple(CONFIG)
            values = dict(found.checkpoint["channel_values"]) if found else {}
            text = f"shared value {rng.randrange(5)} " * 40
            values["messages"] = [
                *values.get("messages", [])[-20:],
                HumanMessage(f"{number}-{step} " * 20, id=f"{number}-{step}"),
            ]
            values["file"] = text
            checkpoint: Any = {
                "v": 4,
                "id": str(uuid6()),
                "ts": datetime.now(UTC).isoformat(),
                "channel_values": values,
                "channel_versions": dict.fromkeys(values, step * 10 + number),
                "versions_seen": {},
                "updated_channels": None,
            }
            parent = found.config if found else empty
            new = saver.put(parent, checkpoint, {"source": "loop"}, checkpoint["channel_versions"])
            saver.put_writes(new, [("file", text)], f"task {number}")
            if rng.random() < 0.2:
                saver.retain("thread", Policy(keep=rng.randrange(1, 4), entries=rng.random() < 0.5))


def test_several_processes_write_and_prune_one_thread(dsn: str, cold: LedgerSaver) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_live, args=(dsn, n, 6.0)) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    found = list(cold.list(CONFIG))  # every reference of every checkpoint resolves
    assert found
    for one in found:
        assert one.checkpoint["channel_values"]["messages"]
        assert one.checkpoint["channel_values"]["file"].startswith("shared value")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"keep": -1}, "keep must be at least 0"),
        ({"keep": "3"}, "keep must be a whole number"),
        ({"since": datetime(2025, 1, 1)}, "with its zone"),  # noqa: DTZ001 - that is what is wrong
        ({"since": "30d"}, "with its zone"),
        ({"checkpoint_ns": 3}, "checkpoint_ns must be a string"),
    ],
)
def test_a_policy_that_cannot_be_meant(wrong: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Policy(**wrong)


def test_one_run_is_not_several(saver: LedgerSaver) -> None:
    with pytest.raises(ConfigurationError, match="run_ids must be a sequence"):
        saver.delete_for_runs("a-run")
