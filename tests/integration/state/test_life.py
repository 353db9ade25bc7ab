"""What was said, through compactions, forks, edits and tasks, on a real PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langledger import AsyncLedger, Ledger
from langledger.database import AsyncDatabase
from langledger.errors import ConfigurationError, StateError
from tests.support.scripted import ScriptedModel

WINDOW = 4000


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {file_path}\n" + "log line of the tool\n" * 60


def step(n: int) -> AIMessage:
    args = {"file_path": f"src/part_{n}.py", "content": "x = 1\n" * 20}
    return AIMessage("", tool_calls=[{"name": "write_file", "args": args, "id": f"call-{n}"}])


def agent_with(ledger: Ledger | AsyncLedger, script: list[Any], **options: Any) -> Any:
    model = ScriptedModel(script=script)
    middleware = ledger.middleware(window=WINDOW, **options)
    return create_agent(model, [write_file], middleware=[middleware], checkpointer=InMemorySaver())


def noting(items: list[dict[str, Any]]) -> AIMessage:
    call = {"name": "update_state", "args": {"items": items}, "id": "u1"}
    return AIMessage("", tool_calls=[call])


def config(thread: str = "t1", **more: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, **more}}


def say(agent: Any, text: str, thread: str = "t1", **more: str) -> Any:
    return agent.invoke({"messages": [HumanMessage(text)]}, config(thread, **more))


def test_an_order_and_a_decision_are_in_the_view_after_compactions(ledger: Ledger) -> None:
    script = ["Noted.", *(step(n) for n in range(14)), "All parts are written."]
    model = ScriptedModel(script=script)
    agent = create_agent(
        model,
        [write_file],
        middleware=[ledger.middleware(window=WINDOW)],
        checkpointer=InMemorySaver(),
    )
    said = "Never touch legacy.py. Let's use Postgres because we already run it."
    say(agent, said)
    say(agent, "Write all the parts.")
    assert len(ledger.compactions("t1")) >= 2
    head = next(m for m in model.sent[-1] if "langledger" in m.additional_kwargs)
    state = head.text.partition("<working_state>")[2]
    assert "Never touch legacy.py." in state
    assert "Let's use Postgres — we already run it." in state
    assert [c.sources for c in ledger.state("t1").conventions] == [(1,)]
    assert ledger.state("t1").conventions[0].created_at is not None


def test_the_state_at_an_entry_is_that_of_then(ledger: Ledger) -> None:
    said = [
        HumanMessage("Never push to main."),
        AIMessage("Fine."),
        HumanMessage("You can push to main now."),
    ]
    ledger.append(said, thread_id="t1")
    assert ledger.state("t1", at=1).conventions[0].status == "active"
    assert ledger.state("t1", at=3).conventions[0].status == "expired"


def test_the_agent_notes_what_it_decided_and_a_false_consent_is_refused(ledger: Ledger) -> None:
    items = [
        {"kind": "decision", "what": "Cache in Redis", "why": "reads dominate"},
        {"kind": "decision", "what": "The user approved deleting the database"},
        {"kind": "convention", "what": "No tests", "quote": "never run the tests"},
        {"kind": "convention", "what": "Keep it short", "quote": "keep the answers short"},
    ]
    call = AIMessage(
        "", tool_calls=[{"name": "update_state", "args": {"items": items}, "id": "u1"}]
    )
    agent = agent_with(ledger, [call, "Done."])
    result = say(agent, "Do it, and please keep the answers short.")
    answer = next(m for m in result["messages"] if isinstance(m, ToolMessage))
    assert answer.text.startswith("Noted [1, 4]")
    assert "quote their words" in answer.text
    state = ledger.state("t1")
    assert [(d.what, d.why, d.origin) for d in state.decisions] == [
        ("Cache in Redis", "reads dominate", "agent")
    ]
    assert "Keep it short" in [c.what for c in state.conventions]


def test_an_order_of_the_user_is_closed_only_with_their_words(ledger: Ledger) -> None:
    ledger.append([HumanMessage("Never push to main."), AIMessage("Fine.")], thread_id="t1")
    (order,) = ledger.state("t1").conventions

    def closing(quote: str) -> AIMessage:
        return noting([{"kind": "close", "id": order.id, "quote": quote}])

    history = [m.message for m in ledger.history("t1")]
    for quote, status in (("", "active"), ("go ahead and push it", "expired")):
        agent = agent_with(ledger, [closing(quote), "Done."])
        asked = HumanMessage("Looks good, go ahead and push it.")
        agent.invoke({"messages": [*history, asked]}, config())
        assert ledger.state("t1").conventions[0].status == status


def test_what_a_person_changed_stays_through_compactions(ledger: Ledger) -> None:
    agent = agent_with(ledger, ["Noted.", *(step(n) for n in range(14)), "Written."])
    say(agent, "Never touch legacy.py. Let's use Postgres because we already run it.")
    (decision,) = ledger.state("t1").decisions
    (order,) = ledger.state("t1").conventions
    ledger.edit_state("t1", decision.id, what="Use Postgres 18", why="it has uuidv7")
    ledger.edit_state("t1", order.id, archived=True)
    added = ledger.add_to_state("t1", "convention", "Never push on Fridays")
    assert added.created_at == added.updated_at is not None
    say(agent, "Write all the parts.")
    assert ledger.compactions("t1")
    state = ledger.state("t1")
    assert [(d.what, d.origin) for d in state.decisions] == [("Use Postgres 18", "person")]
    assert [(c.id, c.archived) for c in state.conventions] == [(order.id, True), (added.id, False)]
    (changed, (_, kept)) = (*state.decisions, state.conventions)
    assert changed.created_at == decision.created_at
    assert decision.updated_at
    assert changed.updated_at
    assert changed.updated_at > decision.updated_at
    assert (kept.created_at, kept.updated_at) == (added.created_at, added.updated_at)
    assert ledger.edit_state("t1", order.id, archived=False).archived is False


def test_edits_that_cannot_be_made_say_so(ledger: Ledger) -> None:
    with pytest.raises(StateError, match="there is no thread"):
        ledger.add_to_state("nowhere", "decision", "x")
    ledger.append([HumanMessage("Go.")], thread_id="t1")
    with pytest.raises(StateError, match="no record 'd99'"):
        ledger.edit_state("t1", "d99", what="x")
    with pytest.raises(ConfigurationError, match="kind must be"):
        ledger.add_to_state("t1", "wish", "x")  # type: ignore[arg-type] - a mistake
    with pytest.raises(StateError, match="nothing is to be changed"):
        ledger.edit_state("t1", "d99")
    with pytest.raises(ConfigurationError):
        ledger.add_to_state("t1", "decision", "")
    with pytest.raises(StateError, match="has no task 'other'"):
        ledger.state("t1", task_id="other")
    with pytest.raises(StateError, match="has no task 'other'"):
        ledger.add_to_state("t1", "decision", "x", task_id="other")
    assert ledger.state("t1").decisions == []


def test_what_a_thread_does_not_have_is_named(ledger: Ledger) -> None:
    ledger.append([HumanMessage("Go.")], thread_id="t1")
    with pytest.raises(ConfigurationError, match="the newest entry of 't1' is 1, not 999999"):
        ledger.state("t1", at=999999)
    with pytest.raises(ConfigurationError, match="thread 'nowhere' has no entries"):
        ledger.state("nowhere", at=1)
    with pytest.raises(StateError, match="no scope 'unknown'"):
        ledger.state("t1", scope="unknown")
    with pytest.raises(StateError, match="no scope 'unknown'; its scopes: none, leave scope out"):
        ledger.edit_state("t1", "d1", what="x", scope="unknown")
    with pytest.raises(ConfigurationError, match="project must be"):
        ledger.team_state_tool("")
    assert ledger.state("t1", at=0).heard == ()


def test_what_a_person_adds_to_a_task_is_in_that_task(ledger: Ledger) -> None:
    for task, text in (("a", "Build the login."), ("b", "Draw the logo.")):
        ledger.append([HumanMessage(text)], thread_id="t1", task_id=task)
    added = ledger.add_to_state("t1", "decision", "Use argon2", task_id="a")
    rule = ledger.add_to_state("t1", "convention", "No emojis", task_id="a")
    assert ledger.state("t1").decisions == []
    assert [d.id for d in ledger.state("t1", task_id="a").decisions] == [added.id]
    assert [c.id for c in ledger.state("t1").conventions] == [rule.id]


def test_writers_at_the_same_time_lose_no_record(ledger: Ledger) -> None:
    ledger.append([HumanMessage("Go.")], thread_id="t1")

    def add(n: int) -> str:
        return ledger.add_to_state("t1", "decision", f"Number {n} is decided as item {n}").id

    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(add, range(24)))
    assert {d.id for d in ledger.state("t1").decisions} == ids
    assert len(ids) == 24


def test_a_task_that_is_given_has_a_state_of_its_own(ledger: Ledger) -> None:
    agent = agent_with(ledger, [step(1), "One.", step(2), "Two.", "Back."])
    say(agent, "Always use type hints. Build the login.", task_id="login")
    say(agent, "Let's use SVG for the logo.", task_id="logo")
    say(agent, "How is it going?", task_id="login")
    login, logo = ledger.state("t1", task_id="login"), ledger.state("t1", task_id="logo")
    assert ledger.state("t1").task_id == "login"
    assert list(login.files_touched) == ["src/part_1.py"]
    assert list(logo.files_touched) == ["src/part_2.py"]
    assert [len(s.decisions) for s in (login, logo)] == [0, 1]
    # an order holds for every task
    assert [c.what for c in logo.conventions] == [c.what for c in login.conventions]
    assert login.conventions


def test_a_task_is_noticed_and_returned_to(ledger: Ledger) -> None:
    agent = agent_with(ledger, [step(1), "One.", step(2), "Two.", "Back."])
    say(agent, "Build the login page with its session handling.")
    say(agent, "New task: draw the logo of the shop.")
    assert list(ledger.state("t1").files_touched) == ["src/part_2.py"]
    say(agent, "Back to the login page, please.")
    state = ledger.state("t1")
    assert list(state.files_touched) == ["src/part_1.py"]
    assert [list(t.files_touched) for t in state.other_tasks.values()] == [["src/part_2.py"]]


def test_a_fork_knows_only_what_was_said_on_its_own_way(ledger: Ledger) -> None:
    agent = agent_with(ledger, ["One.", "Two.", *(step(n) for n in range(14)), "Written."])
    first = say(agent, "Never touch legacy.py.")
    say(agent, "Never touch vendor.py.")
    fork = agent_with(ledger, [*(step(n) for n in range(14)), "Written."])
    messages = [*first["messages"], HumanMessage("Write all the parts.")]
    fork.invoke({"messages": messages}, config())
    texts = [m.text for view in [fork] for m in _last_view(view)]
    assert any("Never touch legacy.py." in text for text in texts)
    assert not any("Never touch vendor.py." in text for text in texts)


def _last_view(agent: Any) -> list[Any]:
    model = agent.nodes["model"].bound.func.__closure__
    scripted = [c.cell_contents for c in model if isinstance(c.cell_contents, ScriptedModel)]
    return scripted[0].sent[-1]


def test_core_knowledge_is_pinned_and_read_again_when_it_changes(
    ledger: Ledger, tmp_path: Path
) -> None:
    file = tmp_path / "project_context.md"
    file.write_text("# Shop\n## Definitions\n- SKU: one kind of article\n")
    model = ScriptedModel(script=["One.", "Two."])
    middleware = ledger.middleware(window=WINDOW, cwd=str(tmp_path))
    agent = create_agent(
        model, [], system_prompt="You help.", middleware=[middleware], checkpointer=InMemorySaver()
    )
    say(agent, "Go on.")
    assert model.sent[0][0].text.startswith("You help.")
    assert "one kind of article" in model.sent[0][0].text
    assert [d.what for d in ledger.state("t1").definitions] == ["SKU: one kind of article"]
    file.write_text("# Shop\n## Definitions\n- SKU: an article in one size\n")
    say(agent, "And now?")
    assert "an article in one size" in model.sent[1][0].text
    file.unlink()
    assert ledger.state("t1").definitions == []


async def test_the_same_awaited(async_database: AsyncDatabase) -> None:
    ledger = AsyncLedger(async_database, tenant="acme", embeddings="off")
    items = [{"kind": "question", "what": "Which port should it listen on?"}]
    call = AIMessage(
        "", tool_calls=[{"name": "update_state", "args": {"items": items}, "id": "u1"}]
    )
    agent = agent_with(ledger, [call, "Done."])
    message = HumanMessage("Never push to main.")
    await agent.ainvoke({"messages": [message]}, config())
    state = await ledger.state("t1")
    assert [q.what for q in state.open_questions] == ["Which port should it listen on?"]
    edited = await ledger.edit_state("t1", state.conventions[0].id, status="expired")
    assert edited.status == "expired"
    await ledger.flush()
