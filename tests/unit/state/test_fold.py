"""The fold itself: strange input, huge input, repeated ids, its base."""

from __future__ import annotations

import json
import time
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage

from langledger.state.fold import StateFold, fold
from langledger.state.records import WorkingState
from tests.unit.state.folding import SUCCESS, after, call, result, run


def test_wrong_types_and_strange_calls_do_not_break_the_fold():
    folding = StateFold()
    strange: list[Any] = [
        {"name": "Edit", "args": {"file_path": ["a"], "edits": "x", "old_string": 3}, "id": "1"},
        {"name": "Bash", "args": {"command": {"a": 1}}, "id": "2"},
        {"name": "shell", "args": {"command": ["ls", 3]}, "id": "3"},
        {"name": "TodoWrite", "id": "4",
         "args": {"todos": [3, None, {"content": 4}, {"content": "x"}]}},
        {"name": "Read", "id": "5",
         "args": {"file_path": "a", "offset": 10**5000, "limit": -(10**5000)}},
        {"name": "update_plan", "args": {"plan": {"step": "x"}}, "id": "6"},
        {"name": "Write", "args": {"file_path": "中文.md", "content": "\ud800\0"}, "id": None},
        {"name": "\ud800\0", "args": {"\0": "\ud800"}, "id": "\ud800\0"},
    ]  # fmt: skip
    folding.add(AIMessage("", tool_calls=strange), 0)
    for tool_call in strange:
        folding.add(ToolMessage("ok", tool_call_id=tool_call["id"] or ""), 1)
    invalid = {"name": "Edit", "args": '{"file_path": "a', "id": "7", "error": "x"}
    folding.add(AIMessage("", invalid_tool_calls=[{**invalid, "type": "invalid_tool_call"}]), 2)
    nameless = [{"args": None}, "x"]
    folding.add(
        AIMessage.model_construct(content="", tool_calls=nameless, invalid_tool_calls=None), 3
    )
    folding.add(ToolMessage("nobody asked", tool_call_id="unknown"), 4)
    folding.add(
        ToolMessage([{"type": "text", "text": "ok"}, {"type": "image"}], tool_call_id="7"), 5
    )
    state = folding.state
    assert list(state.files_touched) == ["中文.md"]
    assert [step.step for step in state.task_progress] == ["x"]
    dumped = state.model_dump_json()
    assert "\\u0000" not in dumped  # PostgreSQL's jsonb cannot hold it
    assert WorkingState.model_validate_json(dumped) == state


def test_repeated_ids_answer_the_newest_turn_in_the_order_of_its_calls():
    two = [
        {"name": "Write", "args": {"file_path": name, "content": ""}, "id": "same"} for name in "ab"
    ]
    folding = StateFold()
    folding.add(call("Write", {"file_path": "old", "content": ""}, "same"), 0)
    folding.add(AIMessage("", tool_calls=two), 1)
    folding.add(result("Error: boom", "same", error=True), 2)
    folding.add(result(SUCCESS, "same"), 3)
    assert list(folding.state.files_touched) == ["b"]
    folding.add(result(SUCCESS, "same"), 4)
    assert list(folding.state.files_touched) == ["b", "old"]


def test_ten_megabytes_are_taken_in_at_once():
    huge = "line of text, 'quoted' $(and) > more\n" * 270_000
    started = time.process_time()
    state = run(
        call("Write", {"file_path": "a.txt", "content": huge}),
        result("File created successfully at: a.txt"),
        call("Bash", {"command": f"cat > b.txt <<'EOF'\n{huge}EOF\nrm a.txt"}, "c2"),
        result(huge, "c2"),
        call("Bash", {"command": "echo " + huge}, "c3"),
        result(huge, "c3"),
        call("apply_patch", {"input": f"*** Begin Patch\n*** Add File: c.txt\n+{huge}"}, "c4"),
        result("Success. Updated the following files:\nA c.txt", "c4"),
    )
    assert time.process_time() - started < 20  # seconds, not minutes: no quadratic step
    assert [path for path in state.files_touched if path in ("a.txt", "b.txt", "c.txt")] == [
        "a.txt",
        "b.txt",
        "c.txt",
    ]
    assert len(json.dumps(state.model_dump(mode="json"))) < 20_000


def test_a_state_is_not_changed_by_what_is_folded_onto_it():
    base = after("Write", {"file_path": "a.py", "content": "x"})
    before = base.model_dump_json()
    later = fold([(9, call("bash", {"command": "rm a.py"})), (10, result(""))], base)
    assert later.files_touched["a.py"].deleted
    assert base.model_dump_json() == before


def test_a_state_keeps_the_directory_it_was_begun_in():
    base = StateFold(cwd="/one").state
    assert StateFold(base, cwd="/two").state.cwd == "/one"
