"""Every route to an LLM node, with compaction and without: only what the node sees differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import CachePolicy, Command, Overwrite, RetryPolicy, Send, interrupt
from typing_extensions import TypedDict

from langledger import Ledger, insert_compaction
from langledger.database import Database
from langledger.errors import ConfigurationError
from tests.support.scripted import ScriptedModel

WINDOW = 4000
HEAD = "Record of the work so far"
AT_ONCE = RetryPolicy(initial_interval=0.0, jitter=False, max_attempts=3, retry_on=OSError)


def talk() -> list[Any]:
    said: list[Any] = []
    for turn in range(12):
        said.append(HumanMessage(f"Question {turn}? " + "Tell me all. " * 25, id=f"q{turn}"))
        said.append(AIMessage(f"Answer {turn}. " + "The wind was weak. " * 45, id=f"a{turn}"))
    return [*said, HumanMessage("Do the work.", id="task")]


@dataclass
class Site:
    """A graph under construction, and what its nodes saw.

    Attributes:
        builder: The graph.
        seen: What each node was shown, run by run.
        llms: The nodes that call a model.
        first: What the graph is given first.
        compile: What it is compiled with.
        resumes: What it is given then.
    """

    builder: StateGraph = field(default_factory=lambda: StateGraph(MessagesState))
    seen: dict[str, list[list[Any]]] = field(default_factory=dict)
    llms: list[str] = field(default_factory=lambda: ["llm"])
    first: Any = None
    compile: dict[str, Any] = field(default_factory=dict)
    resumes: list[Any] = field(default_factory=list)

    def node(self, name: str, goto: Any = None, **options: Any) -> None:
        """Add a node that says one thing."""
        self.builder.add_node(name, self.work(name, goto), **options)

    def work(self, name: str, goto: Any = None) -> Callable[[MessagesState], Any]:
        def work(state: MessagesState) -> Any:
            self.seen.setdefault(name, []).append(list(state["messages"]))
            update = {"messages": [AIMessage(f"{name} {len(self.seen[name])}")]}
            return update if goto is None else Command(update=update, goto=goto)

        return work


def static(site: Site) -> None:
    site.node("a")
    site.node("llm")
    site.builder.set_entry_point("a")
    site.builder.add_edge("a", "llm")
    site.builder.set_finish_point("llm")


def conditional(site: Site, ends: Any = None) -> None:
    site.node("a")
    site.node("llm")
    site.builder.add_edge(START, "a")
    site.builder.add_conditional_edges("a", lambda state: "llm", ends)


def path_map(site: Site) -> None:
    site.node("a")
    site.node("llm")
    site.builder.add_edge(START, "a")
    site.builder.add_conditional_edges("a", lambda state: True, {True: "llm", False: END})


def path_list(site: Site) -> None:
    conditional(site, ["llm", END])


def several_at_once(site: Site) -> None:
    site.node("a")
    site.node("b")
    site.node("llm")
    site.builder.add_edge(START, "a")
    site.builder.add_conditional_edges("a", lambda state: ["llm", "b"])


def conditional_entry(site: Site) -> None:
    site.node("llm")
    site.builder.set_conditional_entry_point(lambda state: "llm")


def join(site: Site) -> None:
    for name in ("a", "b", "llm"):
        site.node(name)
    site.builder.add_edge(START, "a")
    site.builder.add_edge(START, "b")
    site.builder.add_edge(["a", "b"], "llm")


def behind_a_branch_of_another_length(site: Site) -> None:
    """``end`` follows both ``a`` and ``llm``, in one step: it must not run twice."""
    for name in ("a", "llm", "end"):
        site.node(name)
    for name in ("a", "llm"):
        site.builder.add_edge(START, name)
        site.builder.add_edge(name, "end")


def two_llm_nodes_in_a_row_behind_a_branch(site: Site) -> None:
    site.llms = ["first", "second"]
    for name in ("a", "first", "second"):
        site.node(name)
    site.builder.add_edge(START, "a")
    site.builder.add_edge(START, "first")
    site.builder.add_edge("a", "second")
    site.builder.add_edge("first", "second")


def command(site: Site) -> None:
    site.node("a", goto="llm")
    site.node("llm")
    site.builder.add_edge(START, "a")


def declared_command(site: Site) -> None:
    site.node("a", goto="llm", destinations=("llm",))
    site.node("llm")
    site.builder.add_edge(START, "a")


def outside_command(site: Site) -> None:
    """The very first input of a thread leads to the node, and so does its entry point."""
    site.node("llm")
    site.builder.add_edge(START, "llm")
    site.first = Command(update={"messages": talk()}, goto="llm")


def outside_command_elsewhere(site: Site) -> None:
    site.node("a")
    site.node("llm")
    site.builder.add_edge(START, "a")
    site.first = Command(update={"messages": talk()}, goto="llm")


def fan_out(site: Site) -> None:
    site.node("a")
    site.node("llm")
    site.builder.add_edge(START, "a")
    site.builder.add_conditional_edges(
        "a",
        lambda state: [Send("llm", {"messages": [*state["messages"]]}) for _ in range(3)],
    )


def fan_out_by_command(site: Site) -> None:
    site.node("a", goto=[Send("llm", {"messages": [HumanMessage("Only this.")]}), "llm"])
    site.node("llm")
    site.builder.add_edge(START, "a")


def fan_out_of_something_else(site: Site) -> None:
    """What a Send carries need not be a state."""

    def llm(state: Any) -> dict[str, Any]:
        site.seen.setdefault("llm", []).append([state] if isinstance(state, str) else [])
        return {"messages": [AIMessage(f"about {state}")]}

    site.node("a", goto=[Send("llm", "apples"), Send("llm", {"topic": "pears"}), "b"])
    site.builder.add_node("llm", llm)
    site.node("b")
    site.builder.add_edge(START, "a")
    site.llms = ["llm", "b"]


def parent_command(site: Site) -> None:
    inner = StateGraph(MessagesState)
    inner.add_node("work", lambda state: Command(graph=Command.PARENT, goto="llm"))
    inner.add_edge(START, "work")
    site.builder.add_node("a", inner.compile(), destinations=("llm",))
    site.node("llm")
    site.builder.add_edge(START, "a")


def self_loop(site: Site) -> None:
    site.node("llm")
    site.builder.add_edge(START, "llm")
    site.builder.add_conditional_edges(
        "llm", lambda state: "llm" if len(site.seen["llm"]) < 3 else END, ["llm", END]
    )


def deferred(site: Site) -> None:
    for name in ("a", "b", "c"):
        site.node(name)
    site.node("llm", defer=True)
    site.builder.add_edge(START, "a")
    site.builder.add_edge(START, "b")
    site.builder.add_edge("b", "c")
    site.builder.add_edge("a", "llm")
    site.builder.add_edge("c", "llm")


def a_subgraph(site: Site) -> None:
    inner = StateGraph(MessagesState)
    inner.add_node("work", site.work("llm"))
    inner.add_edge(START, "work")
    site.builder.add_node("llm", inner.compile())
    site.builder.add_edge(START, "llm")


def a_subgraph_that_hands_over(site: Site) -> None:
    """It hands its whole list on, as hand-over tools of swarms do."""
    inner = StateGraph(MessagesState)

    def work(state: MessagesState) -> Command[Any]:
        site.seen.setdefault("llm", []).append(list(state["messages"]))
        said = AIMessage("Over to b.")
        return Command(
            graph=Command.PARENT, goto="b", update={"messages": [*state["messages"], said]}
        )

    inner.add_node("work", work)
    inner.add_edge(START, "work")
    site.builder.add_node("llm", inner.compile(), destinations=("b",))
    site.node("b")
    site.builder.add_edge(START, "llm")


def interrupted_before(site: Site) -> None:
    static(site)
    site.compile, site.resumes = {"interrupt_before": ["llm"]}, [None]


def interrupted_after(site: Site) -> None:
    static(site)
    site.compile, site.resumes = {"interrupt_after": ["llm"]}, [None]


def interrupted_within(site: Site) -> None:
    def llm(state: MessagesState) -> dict[str, Any]:
        site.seen.setdefault("llm", []).append(list(state["messages"]))
        return {"messages": [AIMessage(f"You said {interrupt('Shall I?')}.")]}

    site.builder.add_node("llm", llm)
    site.builder.add_edge(START, "llm")
    site.resumes = [Command(resume="yes")]


def retried(site: Site) -> None:
    def llm(state: MessagesState) -> dict[str, Any]:
        site.seen.setdefault("llm", []).append(list(state["messages"]))
        if len(site.seen["llm"]) < 3:
            raise OSError("away for a moment")
        return {"messages": [AIMessage("There again.")]}

    site.builder.add_node("llm", llm, retry_policy=AT_ONCE)
    site.builder.add_edge(START, "llm")


def cached(site: Site) -> None:
    def llm(state: MessagesState) -> dict[str, Any]:
        site.seen.setdefault("llm", []).append(list(state["messages"]))
        # LangGraph may cache a message before or after it is given an id; this one has its own.
        return {"messages": [AIMessage("Said once.", id="said")]}

    policy = CachePolicy(key_func=lambda state: "same")
    site.builder.add_node("llm", llm, cache_policy=policy)
    site.builder.add_edge(START, "llm")
    site.compile = {"cache": InMemoryCache()}
    site.resumes = [{"messages": [HumanMessage("Once more.")]}]


def whole_list(site: Site) -> None:
    def llm(state: MessagesState) -> dict[str, Any]:
        site.seen.setdefault("llm", []).append(list(state["messages"]))
        return {"messages": [*state["messages"], AIMessage("All of it.")]}

    site.builder.add_node("llm", llm)
    site.builder.add_edge(START, "llm")


def replaced_list(site: Site) -> None:
    def llm(state: MessagesState) -> dict[str, Any]:
        site.seen.setdefault("llm", []).append(list(state["messages"]))
        everything = RemoveMessage(id=REMOVE_ALL_MESSAGES)
        return {"messages": [everything, *state["messages"], AIMessage("All of it.")]}

    site.builder.add_node("llm", llm)
    site.builder.add_edge(START, "llm")


def trimmed_list(site: Site) -> None:
    def llm(state: MessagesState) -> Command[Any]:
        site.seen.setdefault("llm", []).append(list(state["messages"]))
        kept = [*state["messages"][-3:], AIMessage("Trimmed.")]
        return Command(update=[("messages", Overwrite(kept))])

    site.builder.add_node("llm", llm)
    site.builder.add_edge(START, "llm")


def named_like_ours(site: Site) -> None:
    site.node("llm.compaction")
    site.node("llm")
    site.builder.add_edge(START, "llm.compaction")
    site.builder.add_edge("llm.compaction", "llm")


ROUTES = [
    static,
    conditional,
    path_map,
    path_list,
    several_at_once,
    conditional_entry,
    join,
    behind_a_branch_of_another_length,
    two_llm_nodes_in_a_row_behind_a_branch,
    command,
    declared_command,
    outside_command,
    outside_command_elsewhere,
    fan_out,
    fan_out_by_command,
    fan_out_of_something_else,
    parent_command,
    self_loop,
    deferred,
    a_subgraph,
    a_subgraph_that_hands_over,
    interrupted_before,
    interrupted_after,
    interrupted_within,
    retried,
    cached,
    whole_list,
    replaced_list,
    trimmed_list,
    named_like_ours,
]


def outcome(site: Site) -> dict[str, Any]:
    """Run a graph to its end and return what can be seen from outside."""
    graph = site.builder.compile(checkpointer=InMemorySaver(), **site.compile)
    # One at a time, so that the runs of one node have an order.
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 20, "max_concurrency": 1}
    names, values = Counter(), []
    for given in [site.first or {"messages": talk()}, *site.resumes]:
        for mode, chunk in graph.stream(given, config, stream_mode=["updates", "values"]):
            if mode == "updates":
                names.update(chunk.keys())
            else:
                values.append([m.content for m in chunk["messages"]])
    state = graph.get_state(config)
    runs = {name: len(seen) for name, seen in site.seen.items()}
    steps = len(list(graph.get_state_history(config)))
    subgraphs = [name for name, _ in graph.get_subgraphs()]
    messages = [(m.type, m.content) for m in state.values["messages"]]
    return {
        "names": names,
        "values": values,
        "messages": messages,
        "runs": runs,
        "steps": steps,
        "next": state.next,
        "subgraphs": subgraphs,
    }


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
def test_a_route(ledger: Ledger, route: Callable[[Site], None]) -> None:
    plain, compacted = Site(), Site()
    route(plain)
    route(compacted)
    insert_compaction(compacted.builder, before=compacted.llms, ledger=ledger, window=WINDOW)
    insert_compaction(compacted.builder, before=compacted.llms, ledger=ledger, window=WINDOW)
    assert outcome(compacted) == outcome(plain)

    reports = ledger.compactions("t")
    assert 1 <= len(reports) <= 3
    views = [view for name in compacted.llms for view in compacted.seen[name]]
    heads = [view for view in views if view and HEAD in str(getattr(view[0], "content", ""))]
    assert len(heads) == sum(len(seen) > 20 for name in compacted.llms for seen in plain.seen[name])
    assert all(len(view) < 20 for view in heads)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
def test_the_drawing_shows_the_compaction_and_is_else_the_same(
    ledger: Ledger, route: Callable[[Site], None]
) -> None:
    def drawn(site: Site, *, xray: bool) -> tuple[set[str], set[tuple[str, str]]]:
        graph = site.builder.compile(**site.compile).get_graph(xray=xray)
        return set(graph.nodes), {(edge.source, edge.target) for edge in graph.edges}

    for xray in (False, True):
        plain, compacted = Site(), Site()
        route(plain)
        route(compacted)
        nodes, edges = drawn(plain, xray=xray)
        insert_compaction(compacted.builder, before=compacted.llms, ledger=ledger, window=WINDOW)
        more_nodes, more_edges = drawn(compacted, xray=xray)
        added = more_nodes - nodes
        assert len(added) == len(compacted.llms)
        assert all(".compaction" in name for name in added)
        # Without the added nodes, whoever led to one leads to what it leads to.
        through = {
            (source, end)
            for source, target in more_edges
            for end in ([e for s, e in more_edges if s == target] if target in added else [target])
            if source not in added
        }
        assert through == edges
        assert not {(s, e) for s, e in more_edges if e in compacted.llms and s not in added}


def test_a_node_added_after_the_insertion_leads_there_too(ledger: Ledger) -> None:
    site = Site()
    site.node("llm")
    insert_compaction(site.builder, before=["llm"], ledger=ledger, window=WINDOW)
    site.node("late")
    site.builder.add_edge(START, "late")
    site.builder.add_edge("late", "llm")
    outcome(site)
    assert HEAD in site.seen["llm"][0][0].content
    assert len(site.seen["llm"]) == 1


def test_a_compiled_graph_can_be_compiled_again(ledger: Ledger) -> None:
    site = Site()
    static(site)
    before = site.builder.compile(checkpointer=InMemorySaver())
    insert_compaction(before.builder, before=["llm"], ledger=ledger, window=WINDOW)
    config = {"configurable": {"thread_id": "t"}}
    before.invoke({"messages": talk()}, config)  # the old one stays as it was
    assert ledger.compactions("t") == []
    after = before.builder.compile(checkpointer=InMemorySaver()).with_config(tags=["x"])
    after.invoke({"messages": talk()}, config)
    assert len(ledger.compactions("t")) == 1
    assert "llm.compaction" in after.get_graph().nodes
    assert "llm.compaction" in after.get_graph().draw_mermaid()


@tool
def work(n: int) -> str:
    """Work."""
    return f"result {n}\n" + "log line of the tool\n" * 80


def steps() -> list[AIMessage]:
    calls = [{"name": "work", "args": {"n": n}, "id": f"c{n}"} for n in range(16)]
    return [*(AIMessage(f"Step {c['args']['n']}.", tool_calls=[c]) for c in calls), "Finished."]


def test_the_graph_of_create_agent(ledger: Ledger) -> None:
    model = ScriptedModel(script=steps())
    builder = create_agent(model, [work], system_prompt="You work.").builder
    insert_compaction(builder, before=["model"], ledger=ledger, window=WINDOW)
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 100}
    result = builder.compile().invoke({"messages": [HumanMessage("Go.")]}, config)
    assert len(result["messages"]) == 34
    assert len(model.sent) == 17
    assert model.sent[-1][0].content == "You work."
    assert HEAD in model.sent[-1][1].content
    assert [e.message for e in ledger.history("t")] == result["messages"]


def test_the_graph_of_create_react_agent(ledger: Ledger) -> None:
    model = ScriptedModel(script=steps())
    builder = react_agent(model, [work]).builder
    insert_compaction(builder, before=["agent"], ledger=ledger, window=WINDOW)
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 100}
    result = builder.compile().invoke({"messages": [HumanMessage("Go.")]}, config)
    assert len(result["messages"]) == 34
    assert len(model.sent) == 17
    assert HEAD in model.sent[-1][0].content


def react_agent(model: Any, tools: list[Any], **options: Any) -> Any:
    from langgraph.prebuilt import create_react_agent

    with pytest.warns(DeprecationWarning, match="create_react_agent has been moved"):
        return create_react_agent(model, tools, **options)


def test_the_state_can_be_updated_as_the_node(ledger: Ledger) -> None:
    site = Site()
    static(site)
    site.node("end")
    site.builder.add_edge("llm", "end")
    insert_compaction(site.builder, before=["llm"], ledger=ledger, window=WINDOW)
    graph = site.builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    graph.update_state(config, {"messages": talk()}, as_node="a")
    assert graph.get_state(config).next == ("llm",)
    graph.update_state(config, {"messages": [AIMessage("Said by hand.")]}, as_node="llm")
    assert graph.get_state(config).next == ("end",)
    graph.invoke(None, config)
    assert "llm" not in site.seen


async def test_events_name_the_step_and_show_no_summary(ledger: Ledger) -> None:
    site, plain = Site(), Site()
    static(site)
    static(plain)
    insert_compaction(site.builder, before=["llm"], ledger=ledger, window=WINDOW)
    config = {"configurable": {"thread_id": "t"}}

    async def events(builder: StateGraph) -> list[Any]:
        stream = builder.compile().astream_events({"messages": talk()}, config, version="v2")
        return [event async for event in stream]

    ours, theirs = await events(site.builder), await events(plain.builder)
    assert len(ledger.compactions("t")) == 1
    names = Counter((e["event"], e["name"]) for e in ours)
    added = names - Counter((e["event"], e["name"]) for e in theirs)
    assert added[("on_chain_start", "llm.compaction")] == 1
    assert added[("on_chain_end", "llm.compaction")] == 1
    assert {name for _, name in added} <= {"llm.compaction", "LangGraph", "a"}
    assert HEAD not in str(ours)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda site: {"builder": site.builder.compile()}, r"\.builder"),
        (lambda site: {"before": ["llm", "nobody"]}, "no node 'nobody'"),
        (lambda site: {"messages_key": "chat"}, "no 'chat'; it has messages"),
    ],
)
def test_what_would_do_nothing_is_refused(ledger: Ledger, given: Any, told: str) -> None:
    site = Site()
    static(site)
    arguments = {"builder": site.builder, "before": ["llm"], **given(site)}
    with pytest.raises(ConfigurationError, match=told):
        insert_compaction(ledger=ledger, window=WINDOW, **arguments)


def test_tools_of_the_graph_ask_for_a_compaction(ledger: Ledger) -> None:
    ask = AIMessage("", tool_calls=[{"name": "compact_history", "args": {}, "id": "x"}])
    model = ScriptedModel(script=[*steps()[:4], ask, "Finished."])
    builder = StateGraph(MessagesState)
    builder.add_node("llm", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode([work, ledger.compact_tool()]))
    builder.add_edge(START, "llm")
    builder.add_conditional_edges(
        "llm", lambda state: "tools" if state["messages"][-1].tool_calls else END
    )
    builder.add_edge("tools", "llm")
    insert_compaction(builder, before=["llm"], ledger=ledger, window=100_000)
    config = {"configurable": {"thread_id": "t"}}
    builder.compile().invoke({"messages": [HumanMessage("Go.")]}, config)
    assert [r.reason for r in ledger.compactions("t")] == ["asked"]
    assert HEAD in model.sent[-1][0].content


def test_a_graph_inside_is_told_of(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("agent", create_agent(ScriptedModel(script=["ok"]), [work]))
    builder.add_edge(START, "agent")
    insert_compaction(builder, before=["agent"], ledger=ledger, window=WINDOW)
    assert "'agent' is a graph of its own (model, tools)" in caplog.text


def test_nodes_with_conversations_of_their_own(ledger: Ledger) -> None:
    """Two conversations in one state, under two keys: each has its own compactions."""

    class State(MessagesState):
        plans: Annotated[list[AnyMessage], add_messages]

    seen: dict[str, list[Any]] = {}

    def node(key: str) -> Callable[[State], dict[str, Any]]:
        def say(state: State) -> dict[str, Any]:
            seen.setdefault(key, []).append(state[key])
            return {key: [AIMessage(f"{key}.")]}

        return say

    builder = StateGraph(State)
    for key in ("messages", "plans"):
        builder.add_node(f"{key}_llm", node(key))
        insert_compaction(
            builder, before=[f"{key}_llm"], ledger=ledger, window=WINDOW, messages_key=key
        )
    builder.add_edge(START, "messages_llm")
    builder.add_edge("messages_llm", "plans_llm")
    graph = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    other = [type(m)(m.content.replace("wind", "plan"), id=f"p-{m.id}") for m in talk()]
    graph.invoke({"messages": talk(), "plans": other}, config)
    for _ in range(2):
        graph.invoke({"messages": [HumanMessage("On.")], "plans": [HumanMessage("On.")]}, config)
    assert {r.scope: r.generation for r in ledger.compactions("t")} == {"": 1, "/plans": 1}
    assert "plan was weak" not in str(seen["messages"])
    assert "wind was weak" not in str(seen["plans"])
    for views in seen.values():
        assert [view[0].content for view in views] == [views[0][0].content] * 3


def test_tools_of_a_conversation_of_its_own(ledger: Ledger) -> None:
    """What they ask for and write down reaches the node that answers from the same key."""

    class State(TypedDict):
        plans: Annotated[list[AnyMessage], add_messages]

    item = {"kind": "convention", "what": "Work on it now", "quote": "Do the work."}
    calls = [
        {"name": "compact_history", "args": {}, "id": "c"},
        {"name": "update_state", "args": {"items": [item]}, "id": "u"},
    ]
    model = ScriptedModel(script=[AIMessage("", tool_calls=calls), "Done."])
    tools = [
        ledger.compact_tool(messages_key="plans"),
        ledger.update_state_tool(messages_key="plans"),
    ]
    builder = StateGraph(State)
    builder.add_node("llm", lambda state: {"plans": [model.invoke(state["plans"])]})
    builder.add_node("tools", ToolNode(tools, messages_key="plans"))
    builder.add_edge(START, "llm")
    builder.add_conditional_edges("llm", partial(tools_condition, messages_key="plans"))
    builder.add_edge("tools", "llm")
    insert_compaction(builder, before=["llm"], ledger=ledger, window=100_000, messages_key="plans")
    config = {"configurable": {"thread_id": "t"}}
    result = builder.compile().invoke({"plans": talk()}, config)
    assert [m.status for m in result["plans"] if isinstance(m, ToolMessage)] == ["success"] * 2
    assert [(r.scope, r.reason) for r in ledger.compactions("t")] == [("/plans", "asked")]
    conventions = ledger.state("t", scope="/plans").conventions
    assert "Work on it now" in [convention.what for convention in conventions]


def test_an_answer_that_was_paid_for_outlives_the_database(
    module_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Database(module_dsn) as database:
        ledger = Ledger(database, tenant=uuid4().hex)

        def llm(state: MessagesState) -> dict[str, Any]:
            database.close()
            return {"messages": [AIMessage("Paid for.")]}

        builder = StateGraph(MessagesState)
        builder.add_node("llm", llm)
        builder.add_edge(START, "llm")
        insert_compaction(builder, before=["llm"], ledger=ledger, window=WINDOW)
        config = {"configurable": {"thread_id": "t"}}
        result = builder.compile().invoke({"messages": [HumanMessage("Go.")]}, config)
    assert result["messages"][-1].content == "Paid for."
    assert "an answer could not be recorded yet" in caplog.text
