"""The OpenAI Agents SDK's own runner on a ledger session, with its own scripted model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool
from agents.memory.session import Session, is_openai_responses_compaction_aware_session
from agents.testing import ScriptedModel, assistant_message, function_call

from langledger import AsyncLedger, Ledger
from langledger_openai_agents import LedgerSession

FILES = 26


@pytest.fixture
def ledger(module_dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(module_dsn, tenant=uuid4().hex) as opened:
        yield opened


@function_tool
def write_file(path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {path}: {len(content)} characters\n" + "checked a line\n" * 40


def written(number: int) -> Any:
    args = {"path": f"src/module_{number}.py", "content": f"x = {number}\n" * 30}
    return function_call("write_file", args, call_id=f"c{number}")


def agent_of(*script: Any) -> tuple[Agent[Any], ScriptedModel]:
    steps = [[assistant_message(step)] if isinstance(step, str) else step for step in script]
    model = ScriptedModel(steps)
    return Agent(name="coder", model=model, tools=[write_file]), model


def quiet(session: LedgerSession | None = None) -> RunConfig:
    filter_ = session.model_input if session else None
    return RunConfig(tracing_disabled=True, call_model_input_filter=filter_)


def plain(items: list[Any]) -> list[tuple[Any, ...]]:
    return [(i.get("type"), i.get("role"), i.get("call_id"), str(i.get("content"))) for i in items]


def paired(items: list[Any]) -> bool:
    """Whether each call has its result, and each result its call before it."""
    called = [i["call_id"] for i in items if i.get("type") == "function_call"]
    answered = [i["call_id"] for i in items if i.get("type") == "function_call_output"]
    return sorted(called) == sorted(answered)


def test_it_is_a_session_of_the_sdk(ledger: Ledger) -> None:
    session = LedgerSession("s", ledger, window=8000)
    assert isinstance(session, Session)
    assert is_openai_responses_compaction_aware_session(session)


async def test_items_are_those_of_the_sdk_s_own_session(ledger: Ledger) -> None:
    """Two turns of a runner, one with two calls at once, kept by both."""
    kept: list[list[Any]] = []
    for session in (LedgerSession("talk", ledger, window=100_000), SQLiteSession("talk")):
        agent, _ = agent_of([written(1), written(2)], "Done.", "Welcome.")
        for said in ("Write two files.", "Thanks."):
            await Runner.run(agent, said, session=session, run_config=quiet())
        kept.append(await session.get_items())
        if isinstance(session, SQLiteSession):
            session.close()
    assert plain(kept[0]) == plain(kept[1])
    assert kept[0] == kept[1]
    assert ledger.count("talk") == 7
    assert len(ledger.state("talk").files_touched) == 2


async def test_a_long_run_is_compacted_call_by_call(ledger: Ledger) -> None:
    session = LedgerSession("work", ledger, window=6000)
    agent, model = agent_of(*([written(n)] for n in range(FILES)), "Written.")
    await Runner.run(
        agent,
        "Write all modules. Never touch deploy.yml.",
        session=session,
        run_config=quiet(session),
        max_turns=100,
    )
    assert len(ledger.compactions("work")) >= 2
    assert ledger.count("work") == 2 * FILES + 2  # each message once
    names = {f"src/module_{n}.py" for n in range(FILES)}
    assert set(ledger.state("work").files_touched) == names
    sent = model.calls[-1].input
    assert len(sent) < FILES
    assert all(paired(call.input) for call in model.calls)
    text = str(sent)
    assert [name for name in names if name.rpartition("/")[2] not in text] == []
    assert "Never touch deploy.yml" in text
    # The next run begins with the view that this one ended with.
    begun = await LedgerSession("work", ledger, window=8000).get_items()
    assert len(begun) < FILES
    assert paired(begun)
    assert len(await session.get_items(limit=1000)) == 2 * FILES + 2


async def test_history_is_compacted_between_runs_without_the_filter(ledger: Ledger) -> None:
    session = LedgerSession("talk", ledger, window=3000)
    script = [f"Answer {n}: " + "here is detail. " * 60 for n in range(20)]
    agent, model = agent_of(*script)
    for n in range(20):
        await Runner.run(agent, f"Question {n}?", session=session, run_config=quiet())
    assert len(ledger.compactions("talk")) >= 1
    assert ledger.count("talk") == 40
    assert max(len(str(call.input)) for call in model.calls) < 20_000
    assert "Question 19?" in str(model.calls[-1].input)


async def test_asked_for_a_compaction_is_made_before_the_next_call(ledger: Ledger) -> None:
    session = LedgerSession("work", ledger, window=100_000)
    agent, _ = agent_of(*([written(n)] for n in range(8)), "Written.")
    await Runner.run(agent, "Write.", session=session, run_config=quiet())
    await session.run_compaction()
    assert len(await session.get_items()) == 18
    await session.run_compaction({"force": True})
    assert len(await session.get_items()) < 18
    assert len(ledger.compactions("work")) == 1


async def test_what_is_taken_back_is_hidden_and_may_be_said_again(ledger: Ledger) -> None:
    session = LedgerSession("s", ledger, window=8000)
    assert await session.pop_item() is None
    said = [
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
    ]
    await session.add_items(said)
    assert await session.pop_item() == said[2]
    assert await session.get_items(limit=10) == said[:2]
    assert await session.pop_item() == said[1]
    assert await session.pop_item() == said[0]
    assert await session.get_items() == []
    await session.add_items(said[:1])
    assert await session.get_items() == said[:1]
    assert await LedgerSession("s", ledger, window=8000).get_items() == said[:1]
    assert ledger.count("s") == 3


async def test_a_run_that_repeats_what_was_taken_back_is_whole(ledger: Ledger) -> None:
    session = LedgerSession("s", ledger, window=8000)
    await session.add_items([{"role": "user", "content": "go"}])
    await session.pop_item()
    agent, model = agent_of("Done.")
    await Runner.run(agent, "go", session=session, run_config=quiet(session))
    assert [item.get("content") for item in model.calls[0].input] == ["go"]
    items = await session.get_items()
    assert [item["role"] for item in items] == ["user", "assistant"]


async def test_clearing_begins_anew_and_keeps_the_entries(ledger: Ledger) -> None:
    session = LedgerSession("s", ledger, window=8000)
    await session.clear_session()
    for word in ("old", "new"):
        await session.add_items([{"role": "user", "content": word}])
        assert [item["content"] for item in await session.get_items()] == [word]
        await session.clear_session()
    assert await session.get_items() == []
    threads = {row["thread_id"]: row["entries"] for row in ledger.threads()}
    assert threads == {"s": 1, "s#1": 1}


async def test_sessions_and_async_ledgers(module_dsn: str) -> None:
    async with AsyncLedger.from_conn_string(module_dsn, tenant=uuid4().hex) as ledger:
        one, two = (LedgerSession(name, ledger, window=8000) for name in ("one", "two"))
        await one.add_items([{"role": "user", "content": "mine"}])
        assert await two.get_items() == []
        assert [item["content"] for item in await one.get_items()] == ["mine"]
