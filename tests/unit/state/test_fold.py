"""The fold, one class of agents' tools after another."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger.state.fold import StateFold, fold
from langledger.state.records import WorkingState

CWD = "/home/me/project"
SUCCESS = "The file a.py has been updated successfully."


def call(tool: str, args: Any, call_id: str = "c1") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": args, "id": call_id}])


def result(text: str, call_id: str = "c1", *, error: bool = False) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, status="error" if error else "success")


def run(*messages: BaseMessage, cwd: str | None = CWD) -> WorkingState:
    folding = StateFold(cwd=cwd)
    for source, message in enumerate(messages):
        folding.add(message, source)
    return folding.state


def after(tool: str, args: Any, text: str = "ok", *, error: bool = False) -> WorkingState:
    return run(call(tool, args), result(text, error=error))


def done(state: WorkingState) -> list[tuple[str, str]]:
    return [(path, record.last_action) for path, record in state.files_touched.items()]


EDITS = [
    ("Edit", {"file_path": f"{CWD}/a.py", "old_string": "x", "new_string": "y"}),
    ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}]}),
    ("NotebookEdit", {"notebook_path": "a.py", "new_source": "y", "edit_mode": "replace"}),
    ("str_replace_editor",
     {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"}),
    ("str_replace_based_edit_tool",
     {"command": "insert", "path": "a.py", "insert_line": 1, "new_str": ""}),
    ("str_replace_based_edit_tool", {"command": "undo_edit", "path": "a.py"}),
    ("edit", {"path": "a.py", "oldText": "x", "newText": "y"}),
    ("edit", {"i": "note", "input": "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n"}),
    ("edit_file", {"path": "a.py", "edits": [{"oldText": "x", "newText": "y"}]}),
    ("mcp__fs__edit_file", {"file_path": "a.py", "old_string": "x", "new_string": "y"}),
    ("replace_in_file", {"path": "a.py", "diff": "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"}),
    ("multi_replace", {"replacements": [{"filePath": "a.py", "oldString": "x", "newString": "y"}]}),
    ("apply_edits", {"files": ["a.py"]}),
    ("StringReplace", {"path": "a.py", "old_str": "x", "new_str": "y"}),
    ("EditActionArguments", {"command": "str_replace", "path": "a.py", "old_str": "x"}),
    ("whatever", {"file_path": "a.py", "old_string": "x", "new_string": "y"}),
    ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"}),
    ("apply_patch", {"patch": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"}),
    ("shell", {"command": ["apply_patch", "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n"]}),
    ("shell", {"command": ["bash", "-lc", "sed -i s/x/y/ a.py"], "workdir": CWD}),
    ("exec_command", {"cmd": "sed -i s/x/y/ a.py", "workdir": CWD}),
    ("exec", {"input": 'const p = "*** Begin Patch\\n*** Update File: a.py\\n@@\\n-x\\n+y\\n";'
              "text(await tools.apply_patch(p));"}),
    ("exec", {"input": 'tools.exec_command({cmd:"sed -i s/x/y/ a.py", cwd: "/home/me/project"})'}),
    ("Bash", {"command": "cd /home/me/project && sed -i s/x/y/ a.py"}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "args"), EDITS)
def test_an_edit_by_any_agent_is_an_edit_of_the_file(tool: str, args: dict[str, Any]):
    state = after(tool, args)
    assert done(state) == [("a.py", "edit")]
    change = state.files_touched["a.py"].actions[0]
    assert (change.source, change.tool) == (0, tool)


WRITES = [
    ("Write", {"file_path": f"{CWD}/a.py", "content": "x"}, "write"),
    ("write_file", {"file_path": "a.py", "text": "x"}, "write"),
    ("write_file", {"file_path": "/a.py", "content": "x"}, "write"),
    ("write", {"path": "a.py", "content": "x"}, "write"),
    ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "x"}, "create"),
    ("CreateFile", {"path": "a.py", "file_text": "x"}, "create"),
    ("create_new_file", {"filepath": "a.py", "contents": "x"}, "create"),
    ("create", {"command": "create a.py\n"}, "create"),
    ("append_to_file", {"path": "a.py", "content": "x"}, "edit"),
    ("file_delete", {"file_path": "a.py"}, "delete"),
    ("delete_file", {"target_file": "a.py"}, "delete"),
    ("memory", {"command": "delete", "path": "a.py"}, "delete"),
]


@pytest.mark.parametrize(("tool", "args", "action"), WRITES)
def test_whole_files_are_written_created_and_deleted(tool: str, args: dict[str, Any], action: str):
    state = after(tool, args)
    (path,) = state.files_touched
    assert (path.lstrip("/"), state.files_touched[path].last_action) == ("a.py", action)
    assert state.files_touched[path].deleted == (action == "delete")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("move_file", {"source_path": "a.py", "destination_path": "b.py"}),
        ("mcp__fs__move_file", {"source": "a.py", "destination": "b.py"}),
        ("memory", {"command": "rename", "old_path": "a.py", "new_path": "b.py"}),
        ("bash", {"command": "git mv a.py b.py"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n"}),
    ],
)
def test_a_move_leaves_the_old_path_deleted(tool: str, args: dict[str, Any]):
    files = after(tool, args).files_touched
    assert (files["a.py"].deleted, files["a.py"].actions[0].other) == (True, "b.py")
    assert (files["b.py"].last_action, files["b.py"].actions[0].other) == ("rename", "a.py")


def test_a_copy_writes_only_the_copy():
    state = after("copy_file", {"source_path": "a.py", "destination_path": "b.py"})
    assert done(state) == [("b.py", "write")]


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Read", {"file_path": "a.py"}),
        ("str_replace_editor", {"command": "view", "path": "a.py"}),
        ("Grep", {"pattern": "replace", "path": "a.py"}),
        ("update_issue", {"id": "3", "links": [{"url": "x"}]}),
        ("create_or_update_file", {"owner": "o", "repo": "r", "path": "a.py", "content": "x"}),
        ("create_directory", {"path": "a"}),
        ("Task", {"description": "edit a.py", "prompt": "write a.py"}),
        ("Artifact", {"file_path": "a.html", "description": "x"}),
        ("think", {"thought": "I will edit a.py"}),
        ("web_search", {"query": "write a file"}),
        ("apply_patch", {"input": "no patch at all"}),
        ("Edit", {"file_path": 7, "old_string": "x", "new_string": "y"}),
        ("Edit", {"file_path": "a\0.py", "old_string": "x", "new_string": "y"}),
        ("Edit", {}),
        ("", {"x": [1, {"y": None}]}),
    ],
)
def test_what_changes_no_file_is_no_change(tool: str, args: dict[str, Any]):
    assert done(after(tool, args)) == []


FAILURES = [
    "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>",
    "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>",
    "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    "```text\nThe user doesn't want to proceed with this tool use. The tool use was rejected.\n```",
    "User rejected the tool call for `Edit` with id c1",
    "apply_patch verification failed: Failed to find expected lines in a.py",
    "ERROR:\nNo replacement was performed, old_str `x` did not appear verbatim in a.py.",
    "Error: String not found in file: 'x'",
    "Error executing tool: boom",
    "Cannot write to a.py because it already exists.",
    "Your proposed edit has introduced new syntax error(s). Please read this error message",
    f"String '{'long ' * 200}' not found in a.py",
    "Multiple occurrences of string found:\n- Line 3",
    "File already exists at: a.py. Cannot overwrite files using command `create`.",
    "No such file or directory: a.py",
    "ENOENT: no such file or directory, open 'a.py'",
    "Permission to use Edit has been denied.",
    "Invalid `path` parameter: a.py",
    "Access denied to file_path: a.py. Permission granted exclusively to the current directory",
]  # fmt: skip


@pytest.mark.parametrize("text", FAILURES)
@pytest.mark.parametrize("flagged", [True, False])
def test_a_failed_or_refused_edit_does_not_count(text: str, flagged: bool):
    args = {"file_path": "a.py", "old_string": "x", "new_string": "y"}
    state = after("Edit", args, text, error=flagged)
    assert done(state) == []
    assert state.last_action is not None
    assert state.last_action.status == (
        "refused" if "rejected" in text or "denied." in text else "failed"
    )
    assert state.last_action.ok is False


@pytest.mark.parametrize(
    "text",
    [
        SUCCESS,
        "File created successfully at: a.py",
        "Successfully replaced text in a.py. Changed 1 characters to 1 characters.",
        "Applied edit to a.py\nCommit abc fix: error handling failed",
        "Success. Updated the following files:\nM a.py\n",
        "The file a.py has been edited. Here's a snippet:\n1\traise Error('not found in')",
        '```go\npackage utils\n\nvar errNotFound = "does not exist"\n```',
        "Updated file /a.py",
        "",
        "{}",
    ],
)
def test_what_agents_say_after_an_edit_is_no_failure(text: str):
    args = {"file_path": "a.py", "old_string": "x", "new_string": "y"}
    assert done(after("Edit", args, text)) == [("a.py", "edit")]


def test_a_call_without_a_result_is_pending_and_changes_nothing():
    state = run(call("Write", {"file_path": "a.py", "content": "x"}), HumanMessage("stop"))
    assert done(state) == []
    assert state.last_action is not None
    assert (state.last_action.status, state.last_action.ok) == ("pending", None)
    assert [pending.tool for pending in state.pending] == ["Write"]


def test_a_written_file_has_a_hash_until_it_is_edited():
    write = call("Write", {"file_path": "a.py", "content": "x\n"})
    edit = call(
        "Edit", {"file_path": "a.py", "old_string": "x", "new_string": "def f(): pass"}, "c2"
    )
    state = run(write, result("File created successfully at: a.py"), edit, result(SUCCESS, "c2"))
    record = state.files_touched["a.py"]
    assert [change.action for change in record.actions] == ["create", "edit"]
    assert record.actions[0].content_hash is not None
    assert record.content_hash is None
    assert (record.summary, record.created) == ("def f(): pass", True)
    assert record.sources == (0, 2)


def test_the_same_file_by_absolute_and_relative_path_is_one_record():
    state = run(
        call("Edit", {"file_path": f"{CWD}/src/a.py", "old_string": "x", "new_string": "y"}),
        result(SUCCESS),
        call("Bash", {"command": "cd src && sed -i s/y/z/ ./a.py"}, "c2"),
        result("", "c2"),
    )
    assert len(state.files_touched["src/a.py"].actions) == 2
    assert len(state.files_touched) == 1


def test_a_file_created_and_deleted_is_deleted_and_a_directory_takes_its_files_along():
    state = run(
        call("Write", {"file_path": "d/a.py", "content": "x"}),
        result("File created successfully at: d/a.py"),
        call("bash", {"command": "git mv d e"}, "c2"),
        result("", "c2"),
        call("bash", {"command": "rm -rf e"}, "c3"),
        result("", "c3"),
    )
    assert state.files_touched["d/a.py"].actions[-1].other == "e/a.py"
    assert state.files_touched["e/a.py"].deleted


def test_git_checkout_takes_back_what_is_not_committed():
    edit_a = {"file_path": "a.py", "old_string": "x", "new_string": "y"}
    state = run(
        call("Edit", edit_a),
        result(SUCCESS),
        call("Bash", {"command": "git commit -am 'a'"}, "c2"),
        result("[main abc] a", "c2"),
        call("Edit", edit_a | {"file_path": "b.py"}, "c3"),
        result(SUCCESS, "c3"),
        call("Bash", {"command": "git checkout -- ."}, "c4"),
        result("", "c4"),
    )
    assert done(state) == [("a.py", "edit"), ("b.py", "restore")]


def test_a_branch_is_not_a_file():
    state = after("Bash", {"command": "git checkout feature/x"}, "Switched to branch 'feature/x'")
    assert done(state) == []


@pytest.mark.parametrize(
    "ending",
    [
        "Exit code 1\nboom",
        "Exit code: 1\nWall time: 1 seconds\nOutput:\nboom",
        "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\nboom",
        "<returncode>1</returncode>\n<output>\nboom\n</output>",
        "boom\n[Command finished with exit code 1]",
        "boom\n\nCommand exited with code 1",
        "boom\n\n[Command failed with exit code 1]",
        "Output: boom\nError: (none)\nExit Code: 1\nSignal: (none)\nProcess Group PGID: 3",
        '{"output":"boom","metadata":{"exit_code":1,"duration_seconds":0.1}}',
    ],
)
def test_a_failed_shell_command_has_done_all_but_its_last_part(ending: str):
    script = "cat > test_a.py <<'EOF'\nx\nEOF\nsed -i s/x/y/ a.py && python test_a.py > log.txt"
    state = after("bash", {"command": script}, ending)
    assert [path for path, _ in done(state)] == ["test_a.py", "a.py", "log.txt"]
    (command,) = state.commands.values()
    assert (command.ok, command.exit_code, command.failures) == (False, 1, 1)
    assert "boom" in command.outcome
    failing = after("bash", {"command": "sed -i s/x/y/ a.py"}, ending)
    assert done(failing) == []


def test_a_program_that_speaks_of_approval_has_failed_and_was_not_refused():
    text = "Exit code 1\nerror: the request was not approved, it requires approval"
    state = after("Bash", {"command": "gh pr merge"}, text, error=True)
    assert state.last_action is not None
    assert state.last_action.status == "failed"
    refused = after("Bash", {"command": "rm a"}, "BLOCKED by a hook\nReason: x", error=True)
    assert refused.last_action is not None
    assert (refused.last_action.status, refused.commands) == ("refused", {})


def test_an_exit_code_beside_the_text_is_believed():
    folding = StateFold()
    folding.add(call("bash", {"command": "sed -i s/x/y/ a.py"}), 0)
    told = {"exit_code": 4}
    folding.add(ToolMessage("fine", tool_call_id="c1", additional_kwargs=told), 1)
    (command,) = folding.state.commands.values()
    assert (command.ok, command.exit_code, done(folding.state)) == (False, 4, [])


def test_a_command_left_running_has_no_outcome_yet():
    args = {"input": 'tools.exec_command({cmd:"cargo test"})'}
    (command,) = after("exec", args, "Script running with cell ID 3\nOutput:\n").commands.values()
    assert (command.kind, command.ok) == ("test", None)


def test_a_program_that_complains_has_changed_nothing():
    script = "sed -i s/x/y/ nowhere.py; touch b.py"
    text = "sed: can't read nowhere.py: No such file or directory"
    assert done(after("bash", {"command": script}, text)) == [("b.py", "create")]


def test_output_that_speaks_of_exit_codes_is_only_output():
    text = "docs: the tool prints 'exit code 1' here\n" + "x\n" * 1000 + "all good"
    state = after("bash", {"command": "cat notes > a.txt"}, text)
    assert done(state) == [("a.txt", "write")]


def test_equal_commands_are_one_record():
    messages: list[BaseMessage] = []
    for n, text in enumerate(["ok", "Exit code 2\nFAILED a", "3 passed"]):
        messages += [call("Bash", {"command": "uv run  pytest -q"}, f"c{n}"), result(text, f"c{n}")]
    (command,) = run(*messages).commands.values()
    assert (command.command, command.kind) == ("uv run pytest -q", "test")
    assert (command.runs, command.failures, command.ok) == (3, 1, True)
    assert (command.outcome, command.sources) == ("3 passed", (0, 2, 4))


def test_a_script_seen_when_written_is_known_when_run():
    state = run(
        call("Write", {"file_path": "fix.py", "content": "open('src/a.py', 'w').write('')"}),
        result("File created successfully at: fix.py"),
        call("Bash", {"command": "python3 fix.py"}, "c2"),
        result("done", "c2"),
    )
    assert ("src/a.py", "edit") in done(state)


def test_a_shell_that_keeps_its_directory_is_followed_and_reset():
    state = run(
        call("Bash", {"command": "cd src"}),
        result(""),
        call("Bash", {"command": "touch a.py"}, "c2"),
        result("", "c2"),
        call("Bash", {"command": "cd /tmp && touch b"}, "c3"),
        result(f"\nShell cwd was reset to {CWD}", "c3"),
        call("Bash", {"command": "touch c.py"}, "c4"),
        result("", "c4"),
    )
    assert list(state.files_touched) == ["src/a.py", "/tmp/b", "c.py"]
    fresh = run(
        call("bash", {"command": "cd src"}),
        result(""),
        call("bash", {"command": "touch a.py"}, "c2"),
        result("", "c2"),
    )
    assert list(fresh.files_touched) == ["a.py"]


def test_the_line_editor_is_told_its_file_by_the_result():
    opened = f"[File: {CWD}/src/a.py (10 lines total)]\n1:x"
    state = after("edit_open_file", {"command": "edit 1:1\ny\nend_of_edit"}, opened)
    assert done(state) == [("src/a.py", "edit")]


def test_only_the_applied_of_several_edits_count():
    state = after("apply_edits", {"files": ["a.py", "b.py"]}, "Applied edit to a.py\nSkipped b.py")
    assert done(state) == [("a.py", "edit")]


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("Read", {"file_path": "a.py"}, ("a.py", "all")),
        ("Read", {"file_path": "a.py", "offset": 11, "limit": 10}, ("a.py", "11-20")),
        ("read", {"path": "a.py:404-1000"}, ("a.py", "404-1000")),
        ("str_replace_editor", {"command": "view", "path": "a.py", "view_range": [3, -1]},
         ("a.py", "3-end")),
        ("ViewCode", {"files": [{"file_path": "a.py", "start_line": 1, "end_line": 9}]},
         ("a.py", "1-9")),
        ("shell", {"command": ["bash", "-lc", "sed -n '1,40p' a.py"]}, ("a.py", "1-40")),
        ("Bash", {"command": "head -20 a.py"}, ("a.py", "head 20")),
        ("open", {"command": "open a.py 30"}, ("a.py", "all")),
    ],
)  # fmt: skip
def test_what_was_read_is_known(tool: str, args: dict[str, Any], expected: tuple[str, str]):
    state = after(tool, args, "1\tError: not found in the code that is shown")
    assert [(path, *record.ranges) for path, record in state.files_read.items()] == [expected]
    assert done(state) == []


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
