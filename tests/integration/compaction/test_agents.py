"""Several agents in one thread: each has a view and compactions of its own."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.tools import InjectedState, InjectedToolCallId
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send

from langledger import Ledger, insert_compaction
from langledger.compaction.records import cuts
from langledger.compaction.validity import provider_problems
from langledger.entries import Location, load
from langledger.operations import run
from tests.support.scripted import ScriptedModel

WINDOW = 4000
CONFIG = {"configurable": {"thread_id": "t"}, "recursion_limit": 200}


def digging(word: str) -> Any:
    """Return a tool whose results only one agent may ever see."""

    @tool
    def dig(n: int) -> str:
        """Dig."""
        return f"{word} {n}\n" + f"a line of {word}\n" * 100

    return dig


def digs(word: str, count: int = 14) -> list[Any]:
    """Return an agent's answers: so many calls, then one that names its word."""
    calls = [{"name": "dig", "args": {"n": n}, "id": f"{word}-{n}"} for n in range(count)]
    return [*(AIMessage(f"{word} step.", tool_calls=[c]) for c in calls), f"{word} is done."]


def covered_texts(ledger: Ledger, scope: str) -> str:
    """Return what the compactions of an agent stand for."""
    location = Location(ledger.tenant, "t")
    held = [cut for at, cut in run(cuts(location), ledger.executor) if at == scope]
    seqs = sorted({seq for cut in held for seq in cut.covered | cut.masked})
    return "\n".join(e.message.text for e in run(load(location, seqs), ledger.executor))


def scopes(ledger: Ledger) -> set[str]:
    return {report.scope for report in ledger.compactions("t")}


def check_apart(ledger: Ledger, models: dict[str, ScriptedModel]) -> None:
    """Check that no agent was ever shown another one's word."""
    for word, model in models.items():
        assert model.sent
        for view in model.sent:
            assert provider_problems(view) == []
        told = "\n".join(str(message) for view in model.sent for message in view)
        for other in models.keys() - {word}:
            assert f"a line of {other}" not in told
            assert f"{other} step" not in told


def test_subgraphs_side_by_side(ledger: Ledger) -> None:
    models = {word: ScriptedModel(script=digs(word)) for word in ("coal", "iron")}
    builder = StateGraph(MessagesState)
    for word, model in models.items():
        middleware = ledger.middleware(window=WINDOW)
        agent = create_agent(model, [digging(word)], name=word, middleware=[middleware])
        builder.add_node(word, agent)
        builder.add_edge(START, word)
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("Dig.")]}, CONFIG)
    assert scopes(ledger) == {"coal", "iron"}
    check_apart(ledger, models)
    for word, other in (("coal", "iron"), ("iron", "coal")):
        assert f"{word} 3" in covered_texts(ledger, word)
        assert other not in covered_texts(ledger, word)


def test_agents_called_as_tools_of_one_node(ledger: Ledger) -> None:
    models = {word: ScriptedModel(script=digs(word)) for word in ("coal", "iron")}
    agents = {
        word: create_agent(
            model,
            [digging(word)],
            name=f"{word}_digger",
            middleware=[ledger.middleware(window=WINDOW)],
        )
        for word, model in models.items()
    }

    @tool
    def task(description: str, kind: str) -> str:
        """Give a task to an agent."""
        result = agents[kind].invoke({"messages": [HumanMessage(description)]})
        return result["messages"][-1].text

    calls = [
        {"name": "task", "args": {"description": "Dig.", "kind": word}, "id": word}
        for word in models
    ]
    boss = ScriptedModel(script=[AIMessage("Both at once.", tool_calls=calls), "All done."])
    supervisor = create_agent(
        boss,
        [task],
        name="boss",
        middleware=[ledger.middleware(window=WINDOW)],
        checkpointer=InMemorySaver(),
    )
    result = supervisor.invoke({"messages": [HumanMessage("Have them dig.")]}, CONFIG)
    answers = [m.content for m in result["messages"] if isinstance(m, ToolMessage)]
    assert answers == ["coal is done.", "iron is done."]
    assert scopes(ledger) == {"tools@coal_digger", "tools@iron_digger"}
    check_apart(ledger, models)
    assert "a line of" not in str(boss.sent)


async def test_agents_under_our_checkpointer_have_one_scope_each(ledger: Ledger) -> None:
    diggers = {
        word: create_agent(
            ScriptedModel(script=digs(word)),
            [digging(word)],
            name=f"{word}_digger",
            middleware=[ledger.middleware(window=WINDOW)],
        )
        for word in ("coal", "iron")
    }

    @tool
    async def task(kind: str) -> str:
        """Give a task to an agent."""
        result = await diggers[kind].ainvoke({"messages": [HumanMessage("Dig.")]})
        return result["messages"][-1].text

    calls = [{"name": "task", "args": {"kind": word}, "id": word} for word in diggers]
    supervisor = create_agent(
        ScriptedModel(script=[AIMessage("Both at once.", tool_calls=calls), "All done."]),
        [task],
        name="boss",
        middleware=[ledger.middleware(window=WINDOW)],
        checkpointer=ledger.checkpointer(),
    )
    question = {"messages": [HumanMessage("Have them dig.")]}
    await supervisor.ainvoke(question, CONFIG, durability="sync")  # the checkpointer is first
    recorded = {entry.scope or "" for entry in ledger.history("t")}
    assert recorded == {"", "tools@coal_digger", "tools@iron_digger"}


def test_an_agent_called_again_begins_anew(ledger: Ledger) -> None:
    first = digs("coal")
    model = ScriptedModel(script=[*first, *digs("iron")])
    agent = create_agent(
        model, [digging("dust")], name="digger", middleware=[ledger.middleware(window=WINDOW)]
    )

    @tool
    def task(description: str) -> str:
        """Give a task to the agent."""
        return agent.invoke({"messages": [HumanMessage(description)]})["messages"][-1].text

    calls = [
        AIMessage("", tool_calls=[{"name": "task", "args": {"description": f"Dig {w}."}, "id": w}])
        for w in ("coal", "iron")
    ]
    boss = ScriptedModel(script=[*calls, "All done."])
    supervisor = create_agent(boss, [task], checkpointer=InMemorySaver())
    supervisor.invoke({"messages": [HumanMessage("Have it dig.")]}, CONFIG)
    second = model.sent[len(first) :]
    assert len(second) == len(digs("iron"))
    assert [m.content for m in second[0]] == ["Dig iron."]
    assert "coal" not in str(second)


def test_a_fan_out_of_one_node(ledger: Ledger) -> None:
    """Each task is sent its own history; none sees what another's compaction stands for."""
    seen: dict[str, list[Any]] = {}

    def history(word: str) -> list[Any]:
        said: list[Any] = [HumanMessage(f"You dig {word}.", id=f"{word}-start")]
        for n in range(14):
            said.append(AIMessage(f"{word} step {n}. " + "It is hard. " * 80, id=f"{word}-{n}"))
            said.append(HumanMessage(f"Go on with {word}.", id=f"{word}-on-{n}"))
        return said

    def llm(state: MessagesState) -> dict[str, Any]:
        word = state["messages"][-1].content.removesuffix(".").rpartition(" ")[2]
        seen[word] = state["messages"]
        return {"messages": [AIMessage(f"{word} is done.")]}

    words = ["coal", "iron", "salt", "gold", "clay"]
    builder = StateGraph(MessagesState)
    builder.add_node("llm", llm)
    builder.add_conditional_edges(
        START, lambda state: [Send("llm", {"messages": history(word)}) for word in words]
    )
    insert_compaction(builder, before=["llm"], ledger=ledger, window=WINDOW)
    builder.compile().invoke({"messages": []}, CONFIG)
    assert sorted(seen) == sorted(words)
    for word, view in seen.items():
        assert "Record of the work" in view[0].content
        assert not [other for other in words if other != word and other in str(view)]


def hand_over(to: str) -> Any:
    """Return a hand-over tool, as those of swarms and supervisors are."""

    @tool(f"transfer_to_{to}")
    def transfer(
        state: Annotated[dict[str, Any], InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> Command[Any]:
        """Hand over."""
        told = ToolMessage(f"You are {to} now.", tool_call_id=tool_call_id)
        return Command(
            goto=to, graph=Command.PARENT, update={"messages": [*state["messages"], told]}
        )

    return transfer


@pytest.mark.parametrize("guarded", [False, True])
def test_a_swarm_hands_over_with_its_whole_history(ledger: Ledger, guarded: bool) -> None:
    """Inside the agents by middleware, or around them: the parent's messages stay whole."""
    to_iron = {"name": "transfer_to_iron", "args": {}, "id": "over"}
    models = {
        "coal": ScriptedModel(script=[*digs("coal")[:-1], AIMessage("", tool_calls=[to_iron])]),
        "iron": ScriptedModel(script=digs("iron")),
    }
    builder = StateGraph(MessagesState)
    for word, model in models.items():
        middleware = [] if guarded else [ledger.middleware(window=WINDOW)]
        tools = [digging(word), hand_over("iron")]
        agent = create_agent(model, tools, name=word, middleware=middleware)
        builder.add_node(word, agent, destinations=("iron",))
    builder.add_edge(START, "coal")
    if guarded:
        insert_compaction(builder, before=["coal", "iron"], ledger=ledger, window=WINDOW)
    graph = builder.compile(checkpointer=InMemorySaver())
    result = graph.invoke({"messages": [HumanMessage("Dig.")]}, CONFIG)
    said = [m.text.partition("\n")[0] for m in result["messages"]]
    assert said[0] == "Dig."
    for word in models:
        assert [text for text in said if text.startswith(f"{word} 1")][:1] == [f"{word} 1"]
        assert len([text for text in said if text == f"{word} step."]) == 14
    assert said[-1] == "iron is done."
    assert not [m for m in result["messages"] if "langledger" in m.additional_kwargs]
    assert len({m.id for m in result["messages"]}) == len(result["messages"])
    # The one that takes over starts from the other's whole history, within its own window.
    for view in models["iron"].sent if not guarded else models["iron"].sent[:1]:
        assert provider_problems(view) == []
    assert "Record of the work" in models["iron"].sent[0][0].content


def test_the_parents_compaction_is_not_the_subagents(ledger: Ledger) -> None:
    """A subagent that is sent one message sees that message, whatever its parent compacted."""
    sub = ScriptedModel(script=["Sub is done."])
    worker = create_agent(sub, [], name="worker", middleware=[ledger.middleware(window=WINDOW)])

    @tool
    def delegate(description: str) -> str:
        """Delegate."""
        return worker.invoke({"messages": [HumanMessage(description)]})["messages"][-1].text

    call = {"name": "delegate", "args": {"description": "Only this."}, "id": "d"}
    boss = ScriptedModel(
        script=[*digs("coal")[:-1], AIMessage("", tool_calls=[call]), "All is done."]
    )
    agent = create_agent(
        boss,
        [digging("coal"), delegate],
        middleware=[ledger.middleware(window=WINDOW)],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": [HumanMessage("Dig and delegate.")]}, CONFIG)
    assert scopes(ledger) == {""}
    assert [m.content for m in sub.sent[0]] == ["Only this."]


def test_an_agent_within_a_node_that_compacts_takes_no_summary_for_the_users_word(
    ledger: Ledger,
) -> None:
    """Both are given compaction: the one inside has the summary of the other in its history."""
    model = ScriptedModel(script=digs("coal", 24))
    inner = create_agent(model, [digging("coal")], middleware=[ledger.middleware(window=WINDOW)])
    builder = StateGraph(MessagesState)
    builder.add_node("worker", inner)
    builder.add_edge(START, "worker")
    insert_compaction(builder, before=["worker"], ledger=ledger, window=WINDOW)
    talk = [
        kind(f"{n}. " + "The wind was weak. " * 45, id=f"{kind.__name__}-{n}")
        for n in range(12)
        for kind in (HumanMessage, AIMessage)
    ]
    graph = builder.compile(checkpointer=InMemorySaver())
    result = graph.invoke({"messages": [*talk, HumanMessage("Dig.", id="dig")]}, CONFIG)
    assert len(result["messages"]) == len(talk) + 1 + 2 * 24 + 1
    assert not [m for m in result["messages"] if "langledger" in m.additional_kwargs]
    assert scopes(ledger) == {"", "worker"}
    last = model.sent[-1]
    assert provider_problems(last) == []
    assert 'The user asked: "[Record' not in last[0].content
    assert 'The user said: "[Record' not in last[0].content
    assert "Dig." in [m.content for m in last]
