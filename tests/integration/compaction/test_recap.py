"""The restating after a compaction: asked for, checked, reported, corrected at the view's end."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langledger import Ledger
from langledger.compaction.recap import RECAP_ASK
from langledger.database import Database
from langledger.errors import ConfigurationError
from langledger.state.render import BRIDGE
from tests.support.scripted import ScriptedModel

WINDOW = 6_000
WRONG = "Next, I will create src/part1.py."


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database)


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"Created {file_path}\n" + "\n".join(f"line {n} of the log" for n in range(80))


def run(ledger: Ledger, *, says: str, **options: Any) -> tuple[ScriptedModel, list[dict[str, Any]]]:
    """Let an agent write files through compactions, and say this when asked where it stands."""

    def answer(messages: list[BaseMessage]) -> AIMessage:
        number = len(model.sent)
        head = messages[1]
        asked = RECAP_ASK in head.text and head.id not in restated
        restated.add(head.id)
        text = says if asked else ""
        if number > 25:
            return AIMessage(text or "All written.")
        args = {"file_path": f"src/part{number}.py", "content": f"n = {number}"}
        calls = [{"name": "write_file", "args": args, "id": f"w{number}"}]
        return AIMessage(text, tool_calls=calls)

    restated: set[str | None] = set()
    model = ScriptedModel(script=[answer])
    agent = create_agent(
        model,
        [write_file],
        system_prompt="You write files.",
        middleware=[ledger.middleware(window=WINDOW, lookup=False, **options)],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 200}
    events = agent.stream(
        {"messages": [("user", "Write the parts.")]}, config, stream_mode="custom"
    )
    return model, [
        event["langledger"]["recap"] for event in events if "recap" in event["langledger"]
    ]


def corrections(view: list[BaseMessage]) -> list[BaseMessage]:
    return [m for m in view if str(m.id).startswith("langledger-correction")]


def test_a_contradiction_is_corrected_once_at_the_end(ledger: Ledger) -> None:
    model, events = run(ledger, says=WRONG)
    assert events
    assert {event["outcome"] for event in events} == {"contradicted"}
    report = ledger.compactions("t")[0]
    assert report.recap == "contradicted"
    assert "src/part1.py is there already" in report.recap_problems[0]
    first = next(n for n, view in enumerate(model.sent) if corrections(view))
    view = model.sent[first]
    assert corrections(view) == view[-1:]
    assert isinstance(view[-2], ToolMessage)
    for before, after in zip(model.sent[first:], model.sent[first + 1 :], strict=False):
        if before[1].id == after[1].id:  # until the next compaction the prefix is the same
            assert after[: len(before)] == before
            assert len(corrections(after)) == 1


def test_after_a_restart_the_view_is_the_same(ledger: Ledger) -> None:
    model, _ = run(ledger, says=WRONG)
    assert corrections(model.sent[-1])
    history = [entry.message for entry in ledger.history("t")][:-1]
    again = ScriptedModel(script=["ok"])
    agent = create_agent(
        again,
        [write_file],
        system_prompt="You write files.",
        middleware=[ledger.middleware(window=WINDOW, lookup=False)],
    )
    agent.invoke({"messages": history}, {"configurable": {"thread_id": "t"}})
    assert again.sent[0] == model.sent[-1]


def test_the_record_forbids_redoing_and_names_the_last_action(ledger: Ledger) -> None:
    model, _ = run(ledger, says=WRONG)
    heads = {v[1].id: v for v in reversed(model.sent) if RECAP_ASK in v[1].text}  # the first each
    assert len(heads) >= 2
    for view in heads.values():
        calls = [c for m in view for c in getattr(m, "tool_calls", [])]
        written = {f"src/part{n}.py" for n in range(1, int(calls[-1]["id"][1:]) + 1)}
        named = {path for path in written if path in view[1].text or path in str(calls)}
        assert named == written
        assert BRIDGE in view[1].text
        last = view[1].text.partition("## Last action\n")[2].partition("\n")[0]
        assert calls[-1]["args"]["file_path"] in last


def test_what_holds_is_reported_and_nothing_is_added(ledger: Ledger) -> None:
    model, events = run(ledger, says="Written so far: src/part1.py and others; more follow.")
    assert {event["outcome"] for event in events} == {"held"}
    assert not [view for view in model.sent if corrections(view)]
    assert ledger.compactions("t")[0].recap == "held"


@pytest.mark.parametrize(("when", "asked"), [("never", False), ("always", True)])
def test_it_can_be_switched(ledger: Ledger, when: str, asked: bool) -> None:
    run(ledger, says=WRONG, recap=when)
    assert bool(ledger.compactions("t")[0].recap) is asked


def test_another_word_is_refused(ledger: Ledger) -> None:
    with pytest.raises(ConfigurationError, match="recap must be auto, always or never"):
        ledger.middleware(window=WINDOW, recap="often")
