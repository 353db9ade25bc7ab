"""LangGraph's own InMemorySaver as the oracle: the same runs, forks and deletions, equal tuples.

A graph runs on a saver that passes each call to both and compares what they return, so both see
the same objects and ids. After every step each checkpoint of each thread is compared, by our
saver that lived through it and by one that knows nothing yet.
"""

from __future__ import annotations

import asyncio
import itertools
import operator
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import EmptyInputError
from langgraph.graph import START, StateGraph
from langgraph.graph.message import (
    REMOVE_ALL_MESSAGES,
    _messages_delta_reducer,
    add_messages,
)
from langgraph.types import Command, Overwrite, Send, interrupt

from langledger.checkpoint import LedgerSaver
from langledger.database import Database

THREADS = ("one", "two")


def plain(found: CheckpointTuple | None) -> Any:
    """A tuple as plain data; InMemorySaver returns the config it was given."""
    if found is None:
        return None
    configurable = found.config["configurable"]
    return {
        "config": [configurable[k] for k in ("thread_id", "checkpoint_ns", "checkpoint_id")],
        "checkpoint": found.checkpoint,
        "metadata": found.metadata,
        "parent": found.parent_config,
        "writes": found.pending_writes,
    }


def agreed(name: str, ours: Any, theirs: Any) -> None:
    assert ours == theirs, f"{name}\nours   {ours}\nmemory {theirs}"


class Both(BaseCheckpointSaver[Any]):
    """Passes each call to both savers, and compares what they return."""

    def __init__(self, ours: LedgerSaver) -> None:
        super().__init__()
        self.memory = InMemorySaver()
        self.ours = ours
        self.versions = itertools.count(1)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        theirs = self.memory.get_tuple(config)
        ours = self.ours.get_tuple(config)
        agreed("get_tuple", plain(ours), plain(theirs))
        return ours

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        theirs = self.memory.get_tuple(config)
        ours = await self.ours.aget_tuple(config)
        agreed("aget_tuple", plain(ours), plain(theirs))
        return ours

    def list(self, config: Any, **options: Any) -> Iterator[CheckpointTuple]:
        theirs = list(self.memory.list(config, **options))
        ours = list(self.ours.list(config, **options))
        agreed("list", [plain(t) for t in ours], [plain(t) for t in theirs])
        return iter(ours)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[CheckpointTuple]:
        theirs = list(self.memory.list(config, **options))
        ours = [found async for found in self.ours.alist(config, **options)]
        agreed("alist", [plain(t) for t in ours], [plain(t) for t in theirs])
        for found in ours:
            yield found

    def put(self, config: Any, *arguments: Any) -> Any:
        agreed(
            "put", self.ours.put(config, *arguments), theirs := self.memory.put(config, *arguments)
        )
        return theirs

    async def aput(self, config: Any, *arguments: Any) -> Any:
        # No await before both have taken in the values: LangGraph changes messages in place.
        theirs = self.memory.put(config, *arguments)
        agreed("aput", await self.ours.aput(config, *arguments), theirs)
        return theirs

    def put_writes(
        self, config: Any, writes: Sequence[Any], task_id: str, task_path: str = ""
    ) -> None:
        self.memory.put_writes(config, writes, task_id, task_path)
        self.ours.put_writes(config, writes, task_id, task_path)

    async def aput_writes(
        self, config: Any, writes: Sequence[Any], task_id: str, task_path: str = ""
    ) -> None:
        self.memory.put_writes(config, writes, task_id, task_path)
        await self.ours.aput_writes(config, writes, task_id, task_path)

    def get_delta_channel_history(self, *, config: Any, channels: Sequence[str]) -> Any:
        theirs = self.memory.get_delta_channel_history(config=config, channels=channels)
        ours = self.ours.get_delta_channel_history(config=config, channels=channels)
        agreed("history", ours, theirs)
        return ours

    async def aget_delta_channel_history(self, *, config: Any, channels: Sequence[str]) -> Any:
        theirs = self.memory.get_delta_channel_history(config=config, channels=channels)
        ours = await self.ours.aget_delta_channel_history(config=config, channels=channels)
        agreed("ahistory", ours, theirs)
        return ours

    def delete_thread(self, thread_id: str) -> None:
        self.memory.delete_thread(thread_id)
        self.ours.delete_thread(thread_id)

    def get_next_version(self, current: Any, channel: None) -> int:
        # InMemorySaver finds values by their version, so two forks must not share one.
        return next(self.versions)


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    delta: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=3)]
    log: Annotated[list[Any], operator.add]
    files: dict[str, Any]
    anything: Any
    plan: list[str]


class Inner(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: Annotated[list[str], operator.add]


def _inner_graph() -> Any:
    def think(state: Inner) -> Inner:
        if state["messages"] and "ask inside" in str(state["messages"][-1].content):
            answer = interrupt({"question": "inside?"})
            return {"steps": [f"asked {answer}"]}
        return {"steps": ["thought"], "messages": [AIMessage("inner thought")]}

    return StateGraph(Inner).add_node("think", think).add_edge(START, "think").compile()


def build(saver: BaseCheckpointSaver[Any]) -> Any:
    """A graph with a subgraph, parallel tasks, an interrupt, and channels of every kind."""

    def plan(state: State) -> Any:
        steps = state.get("plan") or []
        if "interrupt" in steps:
            interrupt("continue?")
        return {"log": ["planned", len(steps)], "plan": [s for s in steps if s != "interrupt"]}

    def fan_out(state: State) -> Any:
        return [
            Send("work", {"step": step, "messages": state["messages"]}) for step in state["plan"]
        ]

    def work(task: Any) -> State:
        step = task["step"]
        message = ToolMessage(f"result of {step} " * 20, tool_call_id=step)
        return {"messages": [message], "delta": [message.model_copy()], "log": [{"step": step}]}

    def finish(state: State) -> State:
        answer = AIMessage(f"done after {len(state['messages'])}", id=f"final-{uuid4()}")
        return {"messages": [answer], "anything": {"n": len(state["messages"]), "t": ("a", 1.5)}}

    builder = StateGraph(State)
    builder.add_node("plan", plan)
    builder.add_node("work", work)
    builder.add_node("inner", _inner_graph())
    builder.add_node("finish", finish)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", fan_out, ["work"])
    builder.add_edge("plan", "inner")
    builder.add_edge("inner", "finish")
    return builder.compile(checkpointer=saver)


WORDS = ["hi", "ask inside", "x" * 300, "中文 🙂", "nul \x00 inside", "", "?", "a longer word " * 9]


class Draw:
    """Values of every kind from one number: hypothesis draws few bytes and so takes many steps."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        return self.random.choice([*WORDS, f"{self.random.random()}"])

    def value(self, depth: int = 3) -> Any:
        pick = self.random.randrange(9 if depth else 6)
        if pick < 6:
            scalars = [
                None,
                True,
                self.random.randrange(-(2**63), 2**63),
                1.5,
                self.text(),
                b"\x00",
            ]
            return scalars[pick]
        size = self.random.choice([0, 1, 3, 40])
        if pick == 6:
            return {self.text(): self.value(depth - 1) for _ in range(size)}
        if pick == 7:
            return list(range(self.random.choice([3, 700])))
        return [self.value(depth - 1) for _ in range(size)]

    def message(self) -> Any:
        text, number = self.text(), self.random.choice([None, "a", "b", "c"])
        call = {"name": "f", "args": {"p": text}, "id": "c"}
        return self.random.choice(
            [
                HumanMessage(text, id=number),
                {"role": "user", "content": text},
                ("user", text),
                AIMessage(text, id=number, tool_calls=[call]),
                AIMessage([{"type": "text", "text": text}], id=number),
            ]
        )

    def input(self) -> dict[str, Any]:
        steps = self.random.sample(["one", "two", "three", "interrupt"], self.random.randrange(4))
        given: dict[str, Any] = {
            "messages": [self.message() for _ in range(self.random.randrange(1, 4))],
            "plan": steps,
        }
        if self.random.random() < 0.5:
            given["files"] = {name: self.value() for name in ("a.py", "b.py")}
        if self.random.random() < 0.5:
            given["anything"] = self.value()
        if self.random.random() < 0.3:
            given["log"] = [self.value(1)]
        return given

    def update(self) -> dict[str, Any]:
        anew = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage(self.text(), id="a")]
        return self.random.choice(
            [
                {"files": {"c.py": self.value()}, "anything": self.value()},
                {"messages": [self.message()]},
                {"messages": anew},
                {"log": Overwrite([self.value()])},
                {"delta": [HumanMessage(self.text(), id=self.random.choice("de"))]},
            ]
        )


SEEDS = st.integers(0, 2**16)
DURABILITY = st.sampled_from(["sync", "async", "exit"])


class Machine(RuleBasedStateMachine):
    """Random life of two threads on both savers."""

    database: Database

    def __init__(self) -> None:
        super().__init__()
        self.tenant = uuid4().hex
        self.saver = Both(LedgerSaver(self.database, tenant=self.tenant))
        self.graph = build(self.saver)
        self.loop = asyncio.new_event_loop()
        self.runs = 0

    def teardown(self) -> None:
        self.loop.close()

    def run(self, value: Any, config: Any, durability: str) -> None:
        # In the event loop a call takes in its values before the graph goes on.
        self.runs += 1
        with suppress(EmptyInputError):  # a replay from where nothing was begun
            self.loop.run_until_complete(self.graph.ainvoke(value, config, durability=durability))

    def config(self, thread: str) -> Any:
        return {"configurable": {"thread_id": thread}, "metadata": {"run": self.runs}}

    def histories(self, thread: str, namespace: str = "") -> list[CheckpointTuple]:
        config = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
        return list(self.saver.memory.list(config))

    @rule(thread=st.sampled_from(THREADS), seed=SEEDS, durability=DURABILITY)
    def invoke(self, thread: str, seed: int, durability: str) -> None:
        self.run(Draw(seed).input(), self.config(thread), durability)

    @precondition(lambda self: self.runs)
    @rule(thread=st.sampled_from(THREADS), seed=SEEDS, durability=DURABILITY)
    def resume(self, thread: str, seed: int, durability: str) -> None:
        state = self.graph.get_state(self.config(thread))
        if state.interrupts:
            resume = {i.id: Draw(seed).value() for i in state.interrupts}
            self.run(Command(resume=resume), self.config(thread), durability)

    @rule(thread=st.sampled_from(THREADS), seed=SEEDS, back=st.integers(0, 6))
    def update(self, thread: str, seed: int, back: int) -> None:
        update = Draw(seed).update()
        found = self.histories(thread)
        config = found[back % len(found)].config if found else self.config(thread)
        self.loop.run_until_complete(self.graph.aupdate_state(config, update, as_node="finish"))

    @precondition(lambda self: self.runs)
    @rule(thread=st.sampled_from(THREADS), back=st.integers(0, 9), durability=DURABILITY)
    def replay(self, thread: str, back: int, durability: str) -> None:
        found = self.histories(thread)
        if found:
            self.run(None, found[back % len(found)].config, durability)

    @rule(thread=st.sampled_from(THREADS))
    def history(self, thread: str) -> None:
        list(self.graph.get_state_history(self.config(thread), limit=7))

    @rule(thread=st.sampled_from(THREADS))
    def restart(self, thread: str) -> None:
        self.saver.ours = LedgerSaver(self.database, tenant=self.tenant)
        self.graph.get_state(self.config(thread), subgraphs=True)

    @precondition(lambda self: self.runs > 3)
    @rule(thread=st.sampled_from(THREADS))
    def delete(self, thread: str) -> None:
        self.saver.delete_thread(thread)

    @invariant()
    def every_tuple_is_equal(self) -> None:
        cold = LedgerSaver(self.database, tenant=self.tenant, cache_bytes=0)
        for thread in THREADS:
            for namespace in list(self.saver.memory.storage.get(thread, {})):
                theirs = [plain(found) for found in self.histories(thread, namespace)]
                where = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
                for saver in (self.saver.ours, cold):
                    agreed(namespace, [plain(found) for found in saver.list(where)], theirs)


@pytest.mark.slow
def test_the_same_life_gives_the_same_tuples(database: Database) -> None:
    machine = type("Machine", (Machine,), {"database": database})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=20,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
