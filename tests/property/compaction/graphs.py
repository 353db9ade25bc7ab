"""Small random graphs, built anew from a plan so that two runs of one are the same."""

from __future__ import annotations

import asyncio
import operator
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, RetryPolicy, Send
from pydantic import BaseModel

NAMES = ("a", "b", "c", "d")
_AT_ONCE = RetryPolicy(initial_interval=0.0, jitter=False, max_attempts=2, retry_on=OSError)


class TypedState(MessagesState):
    runs: Annotated[int, operator.add]


class PydanticState(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    runs: Annotated[int, operator.add] = 0


@dataclass
class DataclassState:
    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
    runs: Annotated[int, operator.add] = 0


SCHEMAS = {"typed": TypedState, "pydantic": PydanticState, "dataclass": DataclassState}


@dataclass(frozen=True)
class Node:
    """How a node is made, and where it goes after each of its first runs.

    Attributes:
        route: ``edges``, ``path``, ``map``, ``command``, ``declared``, ``sub`` (a subgraph with an
            edge) or ``parent`` (a subgraph that hands over).
        goes: Targets after the first, second, ... run; after the last of them it ends.
        sends: The targets of a conditional route or command are sent a message of their own.
        whole: It hands back its whole list of messages.
    """

    route: str
    goes: tuple[tuple[str, ...], ...]
    sends: bool = False
    whole: bool = False
    defer: bool = False
    fails: bool = False


@dataclass(frozen=True)
class Plan:
    """A graph, and how it is run."""

    schema: str
    nodes: dict[str, Node]
    joins: tuple[tuple[tuple[str, ...], str], ...]
    entry: tuple[str, ...]
    conditional_entry: bool
    llms: frozenset[str]
    before: tuple[str, ...]
    after: tuple[str, ...]
    first: str | None
    again: bool
    awaited: bool


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    targets = st.lists(st.sampled_from([*names, END]), min_size=1, max_size=2, unique=True)
    nodes = {
        name: Node(
            route=draw(
                st.sampled_from(["edges", "path", "map", "command", "declared", "sub", "parent"])
            ),
            goes=tuple(tuple(draw(targets)) for _ in range(draw(st.integers(1, 2)))),
            sends=draw(st.sampled_from([False, False, True])),
            whole=draw(st.sampled_from([False, False, True])),
            defer=draw(st.sampled_from([False, False, False, True])),
            fails=draw(st.sampled_from([False, False, False, True])),
        )
        for name in names
    }
    some = st.lists(st.sampled_from(names), unique=True, max_size=2).map(tuple)
    joins = draw(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=2).map(tuple),
                st.sampled_from(names),
            ),
            max_size=1,
        )
    )
    return Plan(
        schema=draw(st.sampled_from(sorted(SCHEMAS))),
        nodes=nodes,
        joins=tuple(joins),
        entry=tuple(draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=2))),
        conditional_entry=draw(st.booleans()),
        llms=frozenset(draw(st.lists(st.sampled_from(names), unique=True, min_size=1))),
        before=draw(some),
        after=draw(some),
        first=draw(st.sampled_from([None, None, *names])),
        again=draw(st.booleans()),
        awaited=draw(st.booleans()),
    )


@dataclass
class Built:
    """A graph of a plan, and how often each of its nodes ran.

    Attributes:
        builder: The graph.
        runs: How often each node ran to its end.
        tried: How often each was started.
        saw: The most messages each was shown.
    """

    builder: StateGraph
    runs: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    saw: Counter[str] = field(default_factory=Counter)


def messages_of(state: Any) -> list[Any]:
    return state["messages"] if isinstance(state, dict) else state.messages


def build(plan: Plan) -> Built:
    """Return the graph of a plan, with nothing run yet."""
    built = Built(StateGraph(SCHEMAS[plan.schema]))
    for name, node in plan.nodes.items():
        _add(built, plan, name, node)
    for starts, end in plan.joins:
        built.builder.add_edge(list(starts), end)
    if plan.conditional_entry:
        built.builder.set_conditional_entry_point(lambda state: list(plan.entry))
    else:
        for name in plan.entry:
            built.builder.set_entry_point(name)
    return built


def _add(built: Built, plan: Plan, name: str, node: Node) -> None:
    builder, policy = built.builder, {"defer": node.defer, "retry_policy": _AT_ONCE}

    def work(state: Any) -> dict[str, Any]:
        built.tried[name] += 1
        if node.fails and built.tried[name] == 1:
            raise OSError("the network is away for a moment")
        built.runs[name] += 1
        seen = messages_of(state)
        built.saw[name] = max(built.saw[name], len(seen))
        said = AIMessage(f"{name} ran {built.runs[name]} times. " + "It found nothing new. " * 25)
        return {"messages": [*seen, said] if node.whole else [said], "runs": 1}

    def goes() -> list[str]:
        at = built.runs[name] - 1
        return list(node.goes[at]) if at < len(node.goes) else [END]

    def sent() -> list[Any]:
        if not node.sends:
            return goes()
        payload = {"messages": [HumanMessage(f"{name} asks you.")], "runs": 0}
        made = SCHEMAS[plan.schema](**payload)
        return [target if target == END else Send(target, made) for target in goes()]

    def command(state: Any) -> Command[Any]:
        update = work(state)
        return Command(update=update, goto=[t for t in sent() if t != END])

    if node.route == "sub":
        builder.add_node(name, _inner(plan, work), **policy)
        builder.add_conditional_edges(name, lambda state: sent())
    elif node.route == "parent":
        builder.add_node(
            name,
            _inner(plan, lambda state: _handed_over(command(state))),
            destinations=(*plan.nodes, END),
            **policy,
        )
    elif node.route in {"command", "declared"}:
        ends = {"destinations": (*plan.nodes, END)} if node.route == "declared" else {}
        builder.add_node(name, command, **policy, **ends)
    else:
        builder.add_node(name, work, **policy)
        if node.route == "edges":
            for target in node.goes[0]:
                builder.add_edge(name, target)
        elif node.route == "path":
            builder.add_conditional_edges(name, lambda state: sent())
        else:
            to = {f"to {target}": target for target in (*plan.nodes, END)}
            builder.add_conditional_edges(
                name, lambda state: [f"to {t}" if isinstance(t, str) else t for t in sent()], to
            )


def _handed_over(command: Command[Any]) -> Command[Any]:
    return Command(update=command.update, goto=command.goto, graph=Command.PARENT)


def _inner(plan: Plan, work: Any) -> Any:
    inner = StateGraph(SCHEMAS[plan.schema])
    inner.add_node("work", work)
    inner.add_edge(START, "work")
    return inner.compile()


async def _streamed(
    graph: Any, value: Any, config: Any, *, awaited: bool
) -> tuple[list[Any], Exception | None]:
    """Return what a run streams, and what it raises."""
    chunks: list[Any] = []
    try:
        if awaited:
            async for chunk in graph.astream(value, config, stream_mode=["updates", "values"]):
                chunks.append(chunk)
        else:
            for chunk in graph.stream(value, config, stream_mode=["updates", "values"]):
                chunks.append(chunk)
    except Exception as error:  # noqa: BLE001 - whatever it is
        return chunks, error
    return chunks, None


def run(plan: Plan, built: Built, history: list[Any], thread_id: str) -> dict[str, Any]:
    """Run a graph to its end, through its interrupts; return all that can be seen of it."""
    graph = built.builder.compile(
        checkpointer=InMemorySaver(),
        interrupt_before=list(plan.before),
        interrupt_after=list(plan.after),
    )
    config = {
        "configurable": {"thread_id": thread_id},
        "recursion_limit": 9,
        "max_concurrency": 1,  # so that the runs of one node have an order
    }
    made = {"messages": history, "runs": 0}
    given: Any = made if plan.first is None else Command(update=made, goto=plan.first)
    told: list[Any] = []
    names: Counter[str] = Counter()
    error = None
    inputs = [given, *[None] * 6, {"messages": [HumanMessage("Go on.")], "runs": 0}, *[None] * 6]
    for number, value in enumerate(inputs):
        if number > 7 and not plan.again:
            break
        if value is None and not graph.get_state(config).next:
            continue
        chunks, raised = asyncio.run(_streamed(graph, value, config, awaited=plan.awaited))
        for mode, chunk in chunks:
            if mode == "updates":
                names.update(chunk.keys())
            else:
                told.append([m.content for m in messages_of(chunk)])
        if raised is not None:  # the same must be raised with and without
            error = f"{type(raised).__name__}: {str(raised)[:60]}"
            break
    state = graph.get_state(config)
    return {
        "error": error,
        "names": names,
        "told": told,
        "messages": [(m.type, m.content) for m in state.values.get("messages", [])],
        "total": state.values.get("runs"),
        "next": state.next,
        "runs": built.runs,
        "tried": built.tried,
    }
