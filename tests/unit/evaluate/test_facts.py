"""What the benchmarks hold views against: read from tool calls, held against the recorded truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langledger.evaluate.facts import Action, actions_of, facts_of, task_type, values_in
from langledger.evaluate.samples import conversation
from langledger.replay.session import load_session


def call(name: str, args: dict, result: str = "ok", *, status: str = "success") -> list:
    key = f"{name}-{json.dumps(args)}"
    return [
        AIMessage("I do it.", tool_calls=[{"id": key, "name": name, "args": args}]),
        ToolMessage(result, tool_call_id=key, status=status),
    ]


def test_edits_reads_commands_and_the_last_action() -> None:
    messages = [
        HumanMessage("Fix the login."),
        HumanMessage("<reminder>", additional_kwargs={"synthetic": True}),
        *call("Read", {"file_path": "/w/src/login.py"}),
        *call("Edit", {"file_path": "/w/src/login.py", "old_string": "a", "new_string": "b"}),
        *call("Write", {"file_path": "/w/src/new.py", "content": "x"}, status="error"),
        *call("Bash", {"command": "pytest -q"}),
    ]
    facts = facts_of(messages, cwd="/w")
    assert facts.edited == ["src/login.py"]
    assert facts.read == ["src/login.py"]
    assert facts.commands == ["pytest -q"]
    assert facts.requests == ["Fix the login."]
    assert facts.last is not None
    assert (facts.last.tool, facts.last.index) == ("Bash", 8)


def test_a_call_without_a_result_is_not_done_yet() -> None:
    messages = [HumanMessage("Go."), call("Edit", {"file_path": "a.py"})[0]]
    facts = facts_of(messages)
    assert facts.edited == []
    assert facts.last is not None


def test_patches_and_deletions() -> None:
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n@@\n*** End Patch"
    gone = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"
    messages = [*call("apply_patch", {"input": patch}), *call("apply_patch", {"input": gone})]
    facts = facts_of(messages)
    assert (facts.edited, facts.deleted) == (["b.py"], ["a.py"])
    facts = facts_of([*messages, *call("Bash", {"command": "git rm -f b.py"})])
    assert facts.deleted == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("TodoWrite", {"todos": [{"content": "Test", "status": "completed"}]}),
        ("update_plan", {"plan": [{"step": "Test", "status": "completed"}]}),
    ],
)
def test_steps_of_a_list(name: str, args: dict) -> None:
    steps = facts_of(call(name, args)).steps
    assert [(step.text, step.done) for step in steps.values()] == [("Test", True)]


def test_steps_kept_up_one_by_one() -> None:
    messages = [
        *call("TaskCreate", {"subject": "Read"}),
        *call("TaskCreate", {"subject": "Write"}),
        *call("TaskUpdate", {"taskId": "1", "status": "completed"}),
        *call("TaskUpdate", {"taskId": "2", "status": "deleted"}),
    ]
    steps = facts_of(messages).steps
    assert [(step.text, step.done) for step in steps.values()] == [("Read", True)]


def test_values_are_what_must_be_written_exactly() -> None:
    action = Action(0, "Bash", {"command": "pytest tests/test_a.py -k fooBar && kill 12345"}, "")
    assert values_in(action) == ["tests/test_a.py", "fooBar", "12345"]


def test_the_next_actions_begin_at_a_place() -> None:
    messages = [
        *call("Read", {"path": "a"}),
        *call("Read", {"path": "b"}),
        *call("Read", {"path": "c"}),
    ]
    assert [a.args["path"] for a in actions_of(messages, start=2, most=1)] == ["b"]


@pytest.mark.parametrize(
    ("request_text", "files", "kind"),
    [
        ("Upgrade django to 5", ["pyproject.toml"], "dependency upgrade"),
        ("The login is broken", ["a.py"], "bug fix"),
        ("Rename the class", ["a.py", "b.py"], "cross-file refactor"),
        ("Rename the class", ["a.py"], "single-file edit"),
        ("What is this?", [], "no edit"),
    ],
)
def test_kinds_of_task(request_text: str, files: list[str], kind: str) -> None:
    edits = [m for name in files for m in call("Edit", {"file_path": name})]
    assert task_type([HumanMessage(request_text), *edits]) == kind


@pytest.mark.transcripts
def test_edited_files_are_those_of_the_recorded_truth(transcripts_dir: Path) -> None:
    """All but one tool's: swe-agent's edits name no file, they work on the one that is open."""
    wanted = missed = extra = 0
    for file in sorted(transcripts_dir.glob("*/*.truth.json")):
        if file.parent.name in ("raw", "swe-agent"):
            continue
        truth = json.loads(file.read_text(encoding="utf-8"))
        due = {
            name
            for name, record in truth["files_touched"].items()
            if any(a["via"] == "tool" and a["ok"] for a in record["actions"])
        }
        session = load_session(file.with_name(file.name.replace(".truth.json", ".jsonl")))
        facts = facts_of(conversation(session)[0], cwd=session.cwd)
        found = [*facts.edited, *facts.deleted]
        wanted += len(due)
        missed += sum(not any(path.endswith(name) for path in found) for name in due)
        extra += sum(not any(path.endswith(name) for name in due) for path in found)
    assert wanted > 300
    assert missed == 0
    assert extra == 0
