"""A real agent with the middleware, on a real PostgreSQL."""

from __future__ import annotations

import json

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langledger import AsyncLedger, Ledger
from langledger.compaction.validity import provider_problems
from langledger.database import AsyncDatabase, Database
from langledger.errors import NothingToShrinkError, WindowUnknownError
from langledger.tokens import count_message
from tests.support.scripted import ScriptedModel

WINDOW = 4000
CONFIG = {"configurable": {"thread_id": "t1"}}


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {file_path}\n" + "log line of the tool\n" * 60


def step(n: int) -> AIMessage:
    call = {
        "name": "write_file",
        "args": {"file_path": f"src/part_{n}.py", "content": "x = 1\n" * 20},
        "id": f"call-{n}",
    }
    return AIMessage(f"Writing part {n} because the plan says so.", tool_calls=[call])


def script(steps: int) -> list[AIMessage]:
    return [*(step(n) for n in range(steps)), AIMessage("All parts are written.")]


def agent_with(ledger: Ledger | AsyncLedger, llm: ScriptedModel, **options):
    return create_agent(
        llm,
        [write_file],
        system_prompt="You write files.",
        middleware=[ledger.middleware(window=WINDOW, **options)],
        checkpointer=InMemorySaver(),
    )


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database, tenant="acme")


def check_run(result: dict, model: ScriptedModel, steps: int) -> None:
    # The state is whole: the request, a call and a result for each step, and the last answer.
    assert len(result["messages"]) == 2 * steps + 2
    assert not [m for m in result["messages"] if "langledger" in m.additional_kwargs]
    for view in model.sent:
        assert provider_problems(view) == []
        assert sum(count_message(m) for m in view) <= 0.85 * WINDOW
        assert any(m.content == "Write all the parts." for m in view)
    last = model.sent[-1][1]
    for n in range(steps - 1):
        assert f"part_{n}.py" in last.content or any(
            f"part_{n}.py" in str(m) for m in model.sent[-1]
        )


def test_an_agent_works_on_through_compactions(ledger: Ledger) -> None:
    model = ScriptedModel(script=script(20))
    agent = agent_with(ledger, model)
    result = agent.invoke({"messages": [HumanMessage("Write all the parts.")]}, CONFIG)
    check_run(result, model, 20)
    reports = ledger.compactions("t1")
    assert len(reports) >= 2
    assert all(r.tokens_after < r.tokens_before for r in reports)
    assert all(r.tokens_before >= 0.69 * WINDOW for r in reports)
    assert [r.generation for r in reports] == list(range(1, len(reports) + 1))


def test_every_message_of_the_run_is_an_entry(ledger: Ledger) -> None:
    model = ScriptedModel(script=script(12))
    result = agent_with(ledger, model).invoke(
        {"messages": [HumanMessage("Write all the parts.")]}, CONFIG
    )
    assert [e.message for e in ledger.history("t1")] == result["messages"]


async def test_the_same_awaited(async_database: AsyncDatabase) -> None:
    ledger = AsyncLedger(async_database, tenant="acme")
    model = ScriptedModel(script=script(20))
    agent = agent_with(ledger, model)
    result = await agent.ainvoke({"messages": [HumanMessage("Write all the parts.")]}, CONFIG)
    check_run(result, model, 20)
    assert len(await ledger.compactions("t1")) >= 2
    assert [e.message for e in await ledger.history("t1")] == result["messages"]


async def test_a_blocking_ledger_serves_an_awaited_agent(ledger: Ledger) -> None:
    model = ScriptedModel(script=script(20))
    result = await agent_with(ledger, model).ainvoke(
        {"messages": [HumanMessage("Write all the parts.")]}, CONFIG
    )
    check_run(result, model, 20)


def test_views_only_grow_between_compactions(ledger: Ledger) -> None:
    model = ScriptedModel(script=script(20))
    agent_with(ledger, model).invoke({"messages": [HumanMessage("Write all the parts.")]}, CONFIG)
    changes = 0
    for before, after in zip(model.sent, model.sent[1:], strict=False):
        if after[: len(before)] != before:
            changes += 1
    assert changes == len(ledger.compactions("t1"))


def test_a_new_process_sees_the_same_view(ledger: Ledger) -> None:
    saver = InMemorySaver()

    def run(model: ScriptedModel, text: str) -> None:
        agent = create_agent(
            model, [write_file], middleware=[ledger.middleware(window=WINDOW)], checkpointer=saver
        )
        agent.invoke({"messages": [HumanMessage(text)]}, CONFIG)

    first, second = ScriptedModel(script=script(20)), ScriptedModel(script=["ok"])
    run(first, "Write all the parts.")
    run(second, "And now?")  # a fresh middleware: nothing in memory
    assert second.sent[0][: len(first.sent[-1])] == first.sent[-1]


def test_nothing_of_the_summary_is_streamed(ledger: Ledger) -> None:
    summariser = ScriptedModel(script=["SECRET SUMMARY of what was done, in many words. " * 4])
    model = ScriptedModel(script=script(20))
    agent = agent_with(ledger, model, model=summariser)
    modes = ["messages", "updates", "values", "custom"]
    events = list(
        agent.stream(
            {"messages": [HumanMessage("Write all the parts.")]}, CONFIG, stream_mode=modes
        )
    )
    assert summariser.sent
    assert "SECRET SUMMARY" in str(model.sent[-1])
    assert "SECRET SUMMARY" not in str([e for e in events if e[0] != "custom"])
    custom = [e[1]["langledger"] for e in events if e[0] == "custom"]
    told = [event["compaction"] for event in custom if "compaction" in event]
    assert [t["generation"] for t in told] == [r.generation for r in ledger.compactions("t1")]
    assert "SECRET SUMMARY" not in json.dumps(told)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "   ",
        "Error: 429 Too Many Requests",
        RuntimeError("down"),
        AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "1"}]),
    ],
)
def test_a_bad_summary_does_no_harm(ledger: Ledger, bad) -> None:
    summariser = ScriptedModel(script=[bad])
    model = ScriptedModel(script=script(20))
    result = agent_with(ledger, model, model=summariser).invoke(
        {"messages": [HumanMessage("Write all the parts.")]}, CONFIG
    )
    check_run(result, model, 20)
    used = [r for r in ledger.compactions("t1") if r.summariser != "none"]
    assert used
    assert all(r.summariser == "extractive" and len(r.rejected) == r.model_calls == 2 for r in used)


def test_an_overflow_is_answered_by_a_smaller_view(ledger: Ledger) -> None:
    refusal = ValueError("This model's maximum context length is 2000 tokens, you asked for 2400")
    answers = [*(step(n) for n in range(3)), refusal, AIMessage("done")]
    model = ScriptedModel(script=answers)
    result = agent_with(ledger, model).invoke(
        {"messages": [HumanMessage("Write all the parts.")]}, CONFIG
    )
    assert result["messages"][-1].content == "done"
    refused, retried = model.sent[3], model.sent[4]
    assert sum(map(count_message, retried)) < sum(map(count_message, refused))
    assert [r.reason for r in ledger.compactions("t1")] == ["overflow"]


def test_other_errors_of_the_model_are_the_users(ledger: Ledger) -> None:
    model = ScriptedModel(script=[RuntimeError("no credit")])
    with pytest.raises(RuntimeError, match="no credit"):
        agent_with(ledger, model).invoke({"messages": [HumanMessage("hi")]}, CONFIG)
    assert [e.message.content for e in ledger.history("t1")] == ["hi"]  # recorded before the call


def test_a_message_larger_than_the_window_is_a_clear_error(ledger: Ledger) -> None:
    model = ScriptedModel(script=["ok"])
    with pytest.raises(NothingToShrinkError, match="window is 4000"):
        agent_with(ledger, model).invoke({"messages": [HumanMessage("word " * 9000)]}, CONFIG)
    assert model.sent == []
    assert ledger.count("t1") == 1


def test_a_result_larger_than_the_window_is_shown_in_part(ledger: Ledger) -> None:
    @tool
    def dump() -> str:
        """Dump."""
        return "\n".join(f"row {n} of the dump" for n in range(4000))

    model = ScriptedModel(
        script=[AIMessage("", tool_calls=[{"name": "dump", "args": {}, "id": "d"}]), "seen"]
    )
    agent = create_agent(model, [dump], middleware=[ledger.middleware(window=WINDOW)])
    agent.invoke({"messages": [HumanMessage("Dump it.")]}, CONFIG)
    shown = next(m for m in model.sent[1] if isinstance(m, ToolMessage))
    assert "row 0 of the dump" in shown.content
    assert "row 3999 of the dump" in shown.content
    assert "entry #3" in shown.content
    assert sum(map(count_message, model.sent[1])) <= 0.85 * WINDOW
    assert "row 2000 of" in ledger.history("t1")[2].message.content


def test_the_window_must_be_known(ledger: Ledger) -> None:
    agent = create_agent(ScriptedModel(script=["ok"]), [], middleware=[ledger.middleware()])
    with pytest.raises(WindowUnknownError, match="window="):
        agent.invoke({"messages": [HumanMessage("hi")]}, CONFIG)


def test_the_window_follows_the_profile_of_the_model(ledger: Ledger) -> None:
    model = ScriptedModel(script=script(20), profile={"max_input_tokens": WINDOW})
    agent = create_agent(model, [write_file], middleware=[ledger.middleware()])
    agent.invoke({"messages": [HumanMessage("Write all the parts.")]}, CONFIG)
    assert {r.window for r in ledger.compactions("t1")} == {WINDOW}


def test_references_can_be_read_back_by_the_agent(ledger: Ledger) -> None:
    asked = AIMessage(
        "", tool_calls=[{"name": "recall_history", "args": {"reference": "#3, #999"}, "id": "r"}]
    )
    model = ScriptedModel(script=[*(step(n) for n in range(12)), asked, "fine"])
    agent_with(ledger, model).invoke({"messages": [HumanMessage("Write all the parts.")]}, CONFIG)
    told = model.sent[-1][-1].content
    assert "wrote src/part_0.py" in told
    assert "#999: there is no such entry" in told


def test_a_long_entry_is_read_back_in_parts(ledger: Ledger) -> None:
    @tool
    def dump() -> str:
        """Dump."""
        return "\n".join(f"row {n} of the dump" for n in range(4000))

    def asked(part: int) -> AIMessage:
        args = {"reference": "#3", "part": part}
        return AIMessage(
            "", tool_calls=[{"name": "recall_history", "args": args, "id": f"p{part}"}]
        )

    first = AIMessage("", tool_calls=[{"name": "dump", "args": {}, "id": "d"}])
    model = ScriptedModel(script=[first, asked(1), asked(4), "seen"])
    agent = create_agent(model, [dump], middleware=[ledger.middleware(window=20_000)])
    result = agent.invoke({"messages": [HumanMessage("Dump it.")]})  # no thread id either
    _, one, four = [m.content for m in result["messages"] if isinstance(m, ToolMessage)]
    assert "part 1 of 7" in one
    assert "row 0 of the dump" in one
    assert "part 4 of 7" in four
    assert "row 2000 of the dump" in four


def test_tenants_do_not_see_each_other(ledger: Ledger) -> None:
    other = ledger.for_tenant("other")
    for one in (ledger, other):
        agent_with(one, ScriptedModel(script=["hello"])).invoke(
            {"messages": [HumanMessage("hi")]}, CONFIG
        )
    assert ledger.count("t1") == other.count("t1") == 2


def test_a_fork_from_before_a_compaction_does_not_see_it(ledger: Ledger) -> None:
    model = ScriptedModel(script=script(20))
    agent = agent_with(ledger, model)
    agent.invoke({"messages": [HumanMessage("Write all the parts.")]}, CONFIG)
    early = next(
        s for s in agent.get_state_history(CONFIG) if len(s.values.get("messages", [])) == 5
    )
    forked = agent.update_state(early.config, {"messages": [HumanMessage("Stop there.")]})
    agent.invoke(None, forked)
    view = model.sent[-1]
    assert not [m for m in view if "langledger" in m.additional_kwargs]
    assert [m.content for m in view if isinstance(m, HumanMessage)] == [
        "Write all the parts.",
        "Stop there.",
    ]
