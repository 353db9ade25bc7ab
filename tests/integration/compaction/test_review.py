"""A person reviews compactions: in graphs by an interrupt, elsewhere by a function."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langledger import AsyncLedger, Ledger, insert_compaction
from langledger.compaction.review import CompactionDraft, Decision
from langledger.errors import ConfigurationError
from tests.support.limited import LimitedModel, RefusedError
from tests.support.scripted import ScriptedModel

WINDOW = 4000
CONFIG = {"configurable": {"thread_id": "t"}}
ACCOUNT = "The user asked for the weather of many days [#1]. Each day was looked up and told. " * 3


def talk(turns: int = 12) -> list[Any]:
    said: list[Any] = []
    for turn in range(turns):
        said.append(HumanMessage(f"What was the weather on day {turn}? " + "Tell me all. " * 20))
        said.append(AIMessage(f"On day {turn} it rained. " + "The wind was weak. " * 40))
    return [*said, HumanMessage("And today?", id="newest")]


def graph_with(ledger: Any, llm_model: Any, node: Any = None, *, saver: Any = None, **options: Any):
    def llm(state: MessagesState) -> dict[str, Any]:
        return {"messages": [llm_model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("llm", node or llm)
    builder.add_edge(START, "llm")
    insert_compaction(
        builder, before=["llm"], ledger=ledger, **{"window": WINDOW, "review": True, **options}
    )
    return builder.compile(checkpointer=saver or InMemorySaver())


def draft_of(result: dict[str, Any]) -> dict[str, Any]:
    (waiting,) = result["__interrupt__"]
    return waiting.value


def test_a_graph_waits_for_a_person_and_goes_on_with_what_was_shown(ledger: Ledger) -> None:
    model, summariser = ScriptedModel(script=["It is dry."]), ScriptedModel(script=[ACCOUNT])
    graph = graph_with(ledger, model, model=summariser)
    waiting = graph.invoke({"messages": talk()}, CONFIG)
    draft = draft_of(waiting)
    assert draft["type"] == "compaction_review"
    assert ACCOUNT.strip() in draft["summary"]
    assert draft["covered"][0][0] == 1
    assert model.sent == []
    assert ledger.compactions("t") == []

    result = graph.invoke(Command(resume="accept"), CONFIG)
    assert result["messages"][-1].content == "It is dry."
    (report,) = ledger.compactions("t")
    assert report.reviewed == "accepted"
    assert len(summariser.sent) == 1
    assert len(model.sent) == 1
    assert draft["summary"] in model.sent[0][0].content


def test_an_edited_summary_is_used_and_kept_by_those_that_follow(ledger: Ledger) -> None:
    model = ScriptedModel(script=["It is dry. " + "Really. " * 400])
    summariser = ScriptedModel(script=[ACCOUNT])
    graph = graph_with(ledger, model, model=summariser)
    graph.invoke({"messages": talk()}, CONFIG)
    mine = "It rained on all days from 0 to 11. The user is called Wilhelmine."
    graph.invoke(Command(resume=mine), CONFIG)
    assert f"<summary>\n{mine}\n</summary>" in model.sent[0][0].content
    assert ledger.compactions("t")[0].reviewed == "edited"

    for turn in range(4):
        asked = {"messages": [HumanMessage(f"And tomorrow {turn}? " + "Say it. " * 50)]}
        if "__interrupt__" in graph.invoke(asked, CONFIG):
            graph.invoke(Command(resume=True), CONFIG)
    assert len(ledger.compactions("t")) >= 2
    assert model.sent[-1][0].content.partition("<summary>\n")[2].startswith(mine)
    # What the person wrote of is not summarised again.
    assert "On day 3 it rained" not in "".join(str(m) for sent in summariser.sent[1:] for m in sent)
    assert "day 3" not in model.sent[-1][0].content


def test_a_rejected_compaction_is_not_applied_and_not_offered_again_at_once(
    ledger: Ledger,
) -> None:
    model = ScriptedModel(script=["It is dry."])
    graph = graph_with(ledger, model)
    graph.invoke({"messages": talk()}, CONFIG)
    result = graph.invoke(Command(resume="reject"), CONFIG)
    assert result["messages"][-1].content == "It is dry."
    assert len(model.sent[0]) == len(talk())
    again = graph.invoke({"messages": [HumanMessage("Thanks.")]}, CONFIG)
    assert "__interrupt__" not in again
    assert ledger.compactions("t") == []


def test_an_answer_that_means_nothing_is_asked_for_again(ledger: Ledger) -> None:
    model = ScriptedModel(script=["It is dry."])
    graph = graph_with(ledger, model)
    graph.invoke({"messages": talk()}, CONFIG)
    for answer in (None, 7, "  ", {"action": "shred"}, {"state": 3}, {"action": "edit"}):
        waiting = graph.invoke(Command(resume={"x": 1} if answer is None else answer), CONFIG)
        assert "accept" in draft_of(waiting)["problem"]
    graph.invoke(Command(resume=True), CONFIG)
    assert [r.reviewed for r in ledger.compactions("t")] == ["accepted"]
    assert len(model.sent) == 1


def test_the_nodes_own_question_gets_its_own_answer(ledger: Ledger) -> None:
    answers: list[Any] = []

    def llm(state: MessagesState) -> dict[str, Any]:
        answers.append(interrupt("Shall I?"))
        answers.append(interrupt("Sure?"))
        return {"messages": [AIMessage(f"You said {answers[-2]} and {answers[-1]}.")]}

    summariser = ScriptedModel(script=[ACCOUNT])
    graph = graph_with(ledger, None, llm, model=summariser)
    graph.invoke({"messages": talk()}, CONFIG)
    assert draft_of(graph.invoke(Command(resume="accept"), CONFIG)) == "Shall I?"
    assert draft_of(graph.invoke(Command(resume="yes"), CONFIG)) == "Sure?"
    result = graph.invoke(Command(resume="quite"), CONFIG)
    assert result["messages"][-1].content == "You said yes and quite."
    assert len(ledger.compactions("t")) == 1
    assert len(summariser.sent) == 1


def test_another_process_applies_what_was_shown(ledger: Ledger) -> None:
    saver = InMemorySaver()
    model, summariser = ScriptedModel(script=["It is dry."]), ScriptedModel(script=[ACCOUNT])
    first = graph_with(ledger, model, model=summariser, saver=saver)
    shown = draft_of(first.invoke({"messages": talk()}, CONFIG))
    # Other options: it would be another compaction now, or none.
    second = graph_with(ledger, model, saver=saver, trigger=0.95, keep=("messages", 2))
    second.invoke(Command(resume=True), CONFIG)
    assert shown["summary"] in model.sent[0][0].content
    assert len(summariser.sent) == 1
    (report,) = ledger.compactions("t")
    assert report.reason == shown["reason"]


def test_a_new_message_instead_of_an_answer_asks_anew(ledger: Ledger) -> None:
    model = ScriptedModel(script=["It is dry."])
    graph = graph_with(ledger, model)
    first = draft_of(graph.invoke({"messages": talk()}, CONFIG))
    second = draft_of(graph.invoke({"messages": [HumanMessage("Hello?")]}, CONFIG))
    assert second["covered"] == first["covered"]
    result = graph.invoke(Command(resume=True), CONFIG)
    assert result["messages"][-1].content == "It is dry."
    assert len(ledger.compactions("t")) == 1


def test_the_state_can_be_edited_and_stays_so(ledger: Ledger) -> None:
    @tool
    def write_file(file_path: str, content: str) -> str:
        """Write a file."""
        return f"wrote {file_path}\n" + "log line of the tool\n" * 60

    def step(n: int) -> AIMessage:
        args = {"file_path": f"src/part_{n}.py", "content": "x = 1\n" * 20}
        call = {"name": "write_file", "args": args, "id": f"c{n}"}
        return AIMessage(f"Writing part {n}.", tool_calls=[call])

    model = ScriptedModel(script=[*(step(n) for n in range(24)), AIMessage("Done.")])
    agent = create_agent(
        model,
        [write_file],
        middleware=[ledger.middleware(window=WINDOW, review=True)],
        checkpointer=InMemorySaver(),
    )
    result = agent.invoke({"messages": [HumanMessage("Write the parts.")]}, CONFIG)
    state = draft_of(result)["state"]
    wrong = next(line for line in state.splitlines() if "part_0.py" in line)
    edited = state.replace(wrong, "- src/part_0.py was written by Ada, not by you")
    result = agent.invoke(Command(resume={"action": "edit", "state": edited}), CONFIG)
    while "__interrupt__" in result:
        result = agent.invoke(Command(resume=True), CONFIG)
    assert len(ledger.compactions("t")) >= 2
    head = next(m.content for m in model.sent[-1] if "<working_state>" in m.content)
    assert "- src/part_0.py was written by Ada, not by you" in head
    assert wrong not in head.splitlines()
    assert len(model.sent) == 25  # resuming ran no model call again


def test_a_function_decides_where_there_is_no_graph(ledger: Ledger) -> None:
    drafts: list[CompactionDraft] = []

    def review(draft: CompactionDraft) -> Decision:
        drafts.append(draft)
        return Decision(action="edit", summary="Nothing but rain.")

    model = ScriptedModel(script=["It is dry."])
    middleware = ledger.middleware(window=WINDOW, review=review)
    agent = create_agent(model, [], middleware=[middleware])
    agent.invoke({"messages": talk()}, CONFIG)
    (draft,) = drafts
    assert draft.thread_id == "t"
    assert draft.tokens_after < draft.tokens_before
    assert "<summary>\nNothing but rain.\n</summary>" in model.sent[0][0].content


async def test_a_coroutine_function_decides(async_ledger: AsyncLedger) -> None:
    ledger = async_ledger

    async def review(draft: CompactionDraft) -> bool:
        return False

    model = ScriptedModel(script=["It is dry."])
    agent = create_agent(model, [], middleware=[ledger.middleware(window=WINDOW, review=review)])
    await agent.ainvoke({"messages": talk(10)}, CONFIG)
    assert len(model.sent[0]) == len(talk(10))
    assert await ledger.compactions("t") == []


async def test_an_awaited_graph_waits_too(async_ledger: AsyncLedger) -> None:
    ledger = async_ledger
    model, summariser = ScriptedModel(script=["It is dry."]), ScriptedModel(script=[ACCOUNT])

    async def llm(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = graph_with(ledger, model, llm, model=summariser)
    assert draft_of(await graph.ainvoke({"messages": talk()}, CONFIG))
    result = await graph.ainvoke(Command(resume=True), CONFIG)
    assert result["messages"][-1].content == "It is dry."
    assert len(summariser.sent) == len(model.sent) == 1


@pytest.mark.parametrize(
    ("review", "told"),
    [
        (True, "checkpointer"),
        ("yes", "review must be"),
        (lambda draft: None, "no decision"),
        (lambda draft: {"action": "edit", "summary": ""}, "cannot be empty"),
    ],
)
def test_what_cannot_be_reviewed_is_one_clear_error(ledger: Ledger, review: Any, told: str) -> None:
    model = ScriptedModel(script=["It is dry."])

    def converse() -> None:
        middleware = ledger.middleware(window=WINDOW, review=review)
        create_agent(model, [], middleware=[middleware]).invoke({"messages": talk()}, CONFIG)

    with pytest.raises(ConfigurationError, match=told):
        converse()
    assert model.sent == []


async def test_a_coroutine_function_needs_an_awaited_run(ledger: Ledger) -> None:
    async def review(draft: CompactionDraft) -> bool:
        return True

    middleware = ledger.middleware(window=WINDOW, review=review)
    agent = create_agent(ScriptedModel(script=["ok"]), [], middleware=[middleware])
    with pytest.raises(ConfigurationError, match="plain one"):
        agent.invoke({"messages": talk()}, CONFIG)


def test_a_subagent_waits_within_its_parents_run(ledger: Ledger) -> None:
    model, summariser = ScriptedModel(script=["It is dry."]), ScriptedModel(script=[ACCOUNT])
    middleware = ledger.middleware(window=WINDOW, review=True, model=summariser)
    builder = StateGraph(MessagesState)
    builder.add_node("worker", create_agent(model, [], middleware=[middleware]))
    builder.add_edge(START, "worker")
    graph = builder.compile(checkpointer=InMemorySaver())
    draft = draft_of(graph.invoke({"messages": talk()}, CONFIG))
    assert draft["scope"] == "worker"
    result = graph.invoke(Command(resume=True), CONFIG)
    assert result["messages"][-1].content == "It is dry."
    assert [(r.scope, r.reviewed) for r in ledger.compactions("t")] == [("worker", "accepted")]
    assert len(summariser.sent) == len(model.sent) == 1


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_a_hook_waits_too(ledger: Ledger) -> None:
    from langgraph.prebuilt import create_react_agent

    model = ScriptedModel(script=["It is dry."])
    hook = ledger.pre_model_hook(window=WINDOW, review=True)
    agent = create_react_agent(model, [], pre_model_hook=hook, checkpointer=InMemorySaver())
    agent.invoke({"messages": talk()}, CONFIG)
    result = agent.invoke(Command(resume="Nothing but rain."), CONFIG)
    assert result["messages"][-1].content == "It is dry."
    assert "<summary>\nNothing but rain.\n</summary>" in model.sent[0][0].content


def test_an_edit_longer_than_what_it_stands_for_is_not_applied(ledger: Ledger) -> None:
    model = ScriptedModel(script=["It is dry."])
    graph = graph_with(ledger, model, review=lambda draft: "word " * 6000)
    graph.invoke({"messages": talk()}, CONFIG)
    assert len(model.sent[0]) == len(talk())
    assert ledger.compactions("t") == []


def test_a_call_that_is_tried_again_asks_nobody_again(ledger: Ledger) -> None:
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    model = ScriptedModel(script=[OSError("away"), OSError("away"), "It is dry."])
    agent = create_agent(
        model,
        [],
        middleware=[retry, ledger.middleware(window=WINDOW, review=True)],
        checkpointer=InMemorySaver(),
    )
    assert draft_of(agent.invoke({"messages": talk()}, CONFIG))
    result = agent.invoke(Command(resume=True), CONFIG)
    assert result["messages"][-1].content == "It is dry."
    assert len(model.sent) == 3
    assert len(ledger.compactions("t")) == 1


def test_a_rejected_way_out_of_a_refusal_leaves_the_providers_error(ledger: Ledger) -> None:
    refusal = "maximum context length exceeded"
    in_agent, in_graph = (LimitedModel(limit=1_000, refusal=refusal) for _ in range(2))
    middleware = ledger.middleware(window=100_000, review=True)
    agent = create_agent(in_agent, [], middleware=[middleware], checkpointer=InMemorySaver())
    graph = graph_with(ledger, in_graph, window=100_000)
    for thread_id, runner, model in (("a", agent, in_agent), ("g", graph, in_graph)):
        config = {"configurable": {"thread_id": thread_id}}
        assert draft_of(runner.invoke({"messages": talk()}, config))["reason"] == "overflow"
        with pytest.raises(RefusedError):
            runner.invoke(Command(resume=False), config)
        assert len(model.refused) == 2
        assert ledger.compactions(thread_id) == []
