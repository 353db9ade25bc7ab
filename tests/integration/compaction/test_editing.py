"""Summaries edited afterwards, and compactions that are asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langledger import AsyncLedger, Ledger
from langledger.errors import ConfigurationError
from langledger.operations import fetch, run
from tests.support.scripted import ScriptedModel

WINDOW = 4000
CONFIG = {"configurable": {"thread_id": "t"}}
MINE = "They talked of the weather on many days. The user is called Wilhelmine."


def question(n: int) -> HumanMessage:
    return HumanMessage(f"What was the weather on day {n}? " + "Tell me all. " * 20)


def days(first: int, last: int) -> list[Any]:
    said: list[Any] = []
    for day in range(first, last + 1):
        said.append(question(day))
        said.append(AIMessage(f"On day {day} it rained. " + "The wind was weak. " * 40))
    return said


def talk() -> list[Any]:
    return [*days(0, 9), HumanMessage("And today?", id="newest")]


def agent_with(ledger: Any, model: ScriptedModel, saver: Any = None, **options: Any) -> Any:
    middleware = ledger.middleware(**{"window": WINDOW, **options})
    return create_agent(model, [], middleware=[middleware], checkpointer=saver or InMemorySaver())


def long_answers() -> ScriptedModel:
    return ScriptedModel(script=["It is dry. " + "Really. " * 300])


def test_an_edit_is_taken_up_by_a_running_agent_and_kept(ledger: Ledger) -> None:
    model = long_answers()
    agent = agent_with(ledger, model)
    agent.invoke({"messages": talk()}, CONFIG)
    (first,) = ledger.compactions("t")
    was = ledger.summary("t")
    assert was in model.sent[0][0].content

    report = ledger.edit_summary("t", first.generation, MINE)
    assert (report.generation, report.reason, report.reviewed) == (2, "edited", "edited")
    assert ledger.summary("t") == MINE
    assert ledger.summary("t", 1) == was
    agent.invoke({"messages": [HumanMessage("Thanks.")]}, CONFIG)
    assert f"<summary>\n{MINE}\n</summary>" in model.sent[1][0].content
    assert model.sent[1][1:-2] == model.sent[0][1:]  # nothing else of the view changed

    for n in range(5):
        agent.invoke({"messages": [question(20 + n)]}, CONFIG)
    assert len(ledger.compactions("t")) >= 3
    assert ledger.summary("t").startswith(MINE)
    assert "day 3" not in ledger.summary("t")  # what the person wrote of is not told again


def test_another_process_takes_it_up_too(ledger: Ledger) -> None:
    saver, model = InMemorySaver(), ScriptedModel(script=["Dry."])
    agent_with(ledger, model, saver).invoke({"messages": talk()}, CONFIG)
    ledger.edit_summary("t", 1, MINE)
    agent_with(ledger, model, saver).invoke({"messages": [HumanMessage("Thanks.")]}, CONFIG)
    assert MINE in model.sent[1][0].content


async def test_the_same_awaited(async_ledger: AsyncLedger) -> None:
    model = ScriptedModel(script=["Dry."])
    agent = agent_with(async_ledger, model, keep=("fraction", 0.2), target=0.45)
    await agent.ainvoke({"messages": talk()}, CONFIG)
    await async_ledger.edit_summary("t", 1, MINE)
    assert await async_ledger.summary("t") == MINE
    await async_ledger.compact("t")
    await agent.ainvoke({"messages": [*days(40, 42), question(43)]}, CONFIG)
    assert MINE in model.sent[1][0].content
    assert [r.reason for r in await async_ledger.compactions("t")][1:] == ["edited", "asked"]


def test_tags_in_an_edit_close_nothing(ledger: Ledger) -> None:
    model = ScriptedModel(script=["Dry."])
    agent = agent_with(ledger, model)
    agent.invoke({"messages": talk()}, CONFIG)
    ledger.edit_summary("t", 1, "One </summary> two <working_state> {three} \\1")
    agent.invoke({"messages": [HumanMessage("Thanks.")]}, CONFIG)
    head = model.sent[1][0].content
    assert head.count("</summary>") == 1
    assert "{three} \\1\n</summary>" in head


@pytest.mark.parametrize(
    ("generation", "text", "told"),
    [
        (1, " ", "empty"),
        (1, "word " * 4000, "at most 1000 fit"),
        (7, MINE, "no compaction 7; the newest is 1"),
        (0, MINE, "generation must be"),
        (1, "a\0b", "NUL"),
    ],
)
def test_what_cannot_be_an_edit(ledger: Ledger, generation: int, text: str, told: str) -> None:
    agent_with(ledger, ScriptedModel(script=["Dry."])).invoke({"messages": talk()}, CONFIG)
    with pytest.raises(ConfigurationError, match=told):
        ledger.edit_summary("t", generation, text)
    assert len(ledger.compactions("t")) == 1


def test_only_the_newest_can_be_edited(ledger: Ledger) -> None:
    agent_with(ledger, ScriptedModel(script=["Dry."])).invoke({"messages": talk()}, CONFIG)
    ledger.edit_summary("t", 1, MINE)
    with pytest.raises(ConfigurationError, match="followed by 2"):
        ledger.edit_summary("t", 1, "Another text.")
    with pytest.raises(ConfigurationError, match="no compactions"):
        ledger.edit_summary("nobody", 1, MINE)
    with pytest.raises(ConfigurationError, match="no compactions"):
        ledger.summary("t", scope="nobody")


def test_what_was_asked_for_is_done_once_and_by_any_process(ledger: Ledger) -> None:
    saver, model = InMemorySaver(), ScriptedModel(script=["Dry."])
    agent = agent_with(ledger, model, saver, window=100_000)
    agent.invoke({"messages": talk()}, CONFIG)
    assert ledger.compactions("t") == []
    ledger.compact("t")
    ledger.compact("t")
    agent_with(ledger, model, saver, window=100_000).invoke({"messages": [question(30)]}, CONFIG)
    agent.invoke({"messages": [question(31)]}, CONFIG)
    assert [r.reason for r in ledger.compactions("t")] == ["asked"]
    assert "Record of the work" in model.sent[1][0].content


def test_what_cannot_be_done_is_not_tried_for_ever(ledger: Ledger) -> None:
    model = ScriptedModel(script=["Dry."])
    agent = agent_with(ledger, model, window=100_000)
    ledger.append([question(1)], thread_id="t")
    ledger.compact("t")
    events = list(agent.stream({"messages": [question(1)]}, CONFIG, stream_mode="custom"))
    assert "compaction_skipped" in events[0]["langledger"]
    assert list(agent.stream({"messages": [question(2)]}, CONFIG, stream_mode="custom")) == []


def test_nobody_is_asked_who_would_not_answer(ledger: Ledger) -> None:
    with pytest.raises(ConfigurationError, match="no thread 'nobody' to compact"):
        ledger.compact("nobody")
    ledger.append([question(1)], thread_id="t")
    with pytest.raises(ConfigurationError, match=r"no agent 'nosuch' .* its agents are ''"):
        ledger.compact("t", scope="nosuch")
    ledger.compact("t")


def test_an_agent_asks_with_its_tool(ledger: Ledger) -> None:
    call = {"name": "compact_history", "args": {}, "id": "c"}
    model = ScriptedModel(script=[AIMessage("", tool_calls=[call]), "Dry."])
    agent = agent_with(ledger, model, window=100_000, compact_tool=True)
    result = agent.invoke({"messages": talk()}, CONFIG)
    assert "will be compacted" in result["messages"][-2].content
    assert [r.reason for r in ledger.compactions("t")] == ["asked"]
    assert "Record of the work" in model.sent[1][0].content


async def test_an_awaited_agent_asks_with_its_tool(async_ledger: AsyncLedger) -> None:
    call = {"name": "compact_history", "args": {}, "id": "c"}
    model = ScriptedModel(script=[AIMessage("", tool_calls=[call]), "Dry."])
    agent = agent_with(async_ledger, model, window=100_000, compact_tool=True)
    await agent.ainvoke({"messages": talk()}, CONFIG)
    assert [r.reason for r in await async_ledger.compactions("t")] == ["asked"]


def test_an_agent_has_the_tool_only_where_wanted(ledger: Ledger) -> None:
    assert "compact_history" not in [t.name for t in ledger.middleware(window=WINDOW).tools]


def test_the_command_line_asks_shows_and_edits(ledger: Ledger, module_dsn: str) -> None:
    from typer.testing import CliRunner

    from langledger.cli import build_app

    def langledger(*words: str, stdin: str | None = None) -> Any:
        env = {"LANGLEDGER_DATABASE_URL": module_dsn, "LANGLEDGER_TENANT": ledger.tenant}
        return CliRunner().invoke(build_app(), words, input=stdin, env=env)

    model = ScriptedModel(script=["Dry."])
    agent = agent_with(ledger, model, keep=("fraction", 0.2), target=0.45)
    agent.invoke({"messages": talk()}, CONFIG)
    assert langledger("summary", "t").stdout.strip() == ledger.summary("t").strip()
    edited = langledger("summary", "t", "--edit", "-", "--json", stdin=f"{MINE}\n")
    assert json.loads(edited.stdout) == {
        "thread_id": "t",
        "scope": "",
        "generation": 2,
        "summary": MINE,
    }
    assert json.loads(langledger("compact", "t", "--json").stdout)["asked"] is True
    agent.invoke({"messages": [*days(40, 42), question(43)]}, CONFIG)
    assert [r.reason for r in ledger.compactions("t")][1:] == ["edited", "asked"]
    assert MINE in model.sent[1][0].content
    for wrong in (("summary", "nobody"), ("compact", "nobody"), ("summary", "t", "--edit", "/no")):
        assert langledger(*wrong).exception is not None


def test_a_deleted_thread_leaves_no_request_and_no_draft(ledger: Ledger) -> None:
    saver, model = ledger.checkpointer(), ScriptedModel(script=["Dry."])
    agent = agent_with(ledger, model, saver, review=True)
    assert "__interrupt__" in agent.invoke({"messages": talk()}, CONFIG)
    ledger.compact("t")
    saver.delete_thread("t")
    result = agent.invoke({"messages": [HumanMessage("Hello.")]}, CONFIG)
    assert "__interrupt__" not in result
    assert ledger.compactions("t") == []
    for table in ("compaction_request", "compaction_draft"):
        count = f"SELECT count(*) FROM {{schema}}.{table} WHERE tenant = %(tenant)s"
        assert run(fetch(count, tenant=ledger.tenant), ledger.executor) == [{"count": 0}]
