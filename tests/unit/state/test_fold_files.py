"""What calls do to files, one class of agents' tools after another."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from langledger.state.lines import marks
from tests.unit.state.folding import CWD, SUCCESS, after, call, done, result, run

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


def test_the_line_editor_is_told_its_file_by_the_result():
    opened = f"[File: {CWD}/src/a.py (10 lines total)]\n1:x"
    state = after("edit_open_file", {"command": "edit 1:1\ny\nend_of_edit"}, opened)
    assert done(state) == [("src/a.py", "edit")]


def test_only_the_applied_of_several_edits_count():
    state = after("apply_edits", {"files": ["a.py", "b.py"]}, "Applied edit to a.py\nSkipped b.py")
    assert done(state) == [("a.py", "edit")]


def test_without_a_directory_given_paths_start_where_the_first_shell_call_runs():
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"
    state = run(
        call("shell", {"command": ["ls"], "workdir": "/work/app"}),
        result("src", "c1"),
        call("apply_patch", {"input": patch}, "c2"),
        result("Success. Updated the following files:\nM src/a.py", "c2"),
        call("shell", {"command": "echo x > src/a.py", "workdir": "/work/app"}, "c3"),
        result("", "c3"),
        call("shell", {"command": "echo x > b.py", "workdir": "/work/app/src"}, "c4"),
        result("", "c4"),
        cwd=None,
    )
    assert done(state) == [("src/a.py", "write"), ("src/b.py", "write")]


def test_a_directory_of_temporary_files_is_no_project():
    made = call("shell", {"command": "echo x > a", "workdir": "/tmp"})
    assert done(run(made, result(""), cwd=None)) == [("/tmp/a", "write")]


def test_a_file_under_two_spellings_is_one_where_the_directory_is_not_known():
    edit = {"old_string": "x", "new_string": "y"}
    root = "/home/me/tool"
    paths = (f"{root}/pkg/a.go", f"{root}/main.go", f"{root}/docs/README.md", "README.md")
    paths = (*paths, f"{root}/x/b/c.go", f"{root}/y/b/c.go")
    messages = [
        m
        for n, path in enumerate(paths)
        for m in (
            call("Edit", {"file_path": path, **edit}, f"c{n}"),
            result(SUCCESS, f"c{n}"),
        )
    ]
    state = run(
        *messages,
        call("Bash", {"command": "gofmt -w pkg/a.go main.go b/c.go"}),
        result(""),
        call("Read", {"file_path": "pkg/a.go"}),
        result("package a"),
        AIMessage("Done."),
        cwd=None,
    )
    assert set(state.files_touched) == {*paths, "b/c.go"}
    assert [len(state.files_touched[p].actions) for p in paths] == [2, 2, 1, 1, 1, 1]
    assert list(state.files_read) == [f"{root}/pkg/a.go"]


@pytest.mark.parametrize(
    "again",
    [
        "git clone -b dev --depth 1 https://example.org/a/skills.git",
        "git clone git@example.org:skills",
        "git clone -q https://example.org/a.git skills",
        "gh repo clone a/skills",
        "mkdir -p skills/deep/er",
        "unzip -q a.zip -d skills",
        "cp -r ~/skills skills",
        "mv ~/skills skills",
    ],
)
def test_a_directory_that_was_deleted_and_is_made_anew_does_not_stand_as_deleted(again: str):
    whole = after("Bash", {"command": f"cd /tmp && rm -rf skills && {again}"})
    assert not whole.files_touched["/tmp/skills"].deleted
    if "cp" not in again and "mv" not in again:
        assert marks(whole.files_touched["/tmp/skills"]) == "deleted and made anew"
    parts = run(
        call("Bash", {"command": "rm -rf /tmp/skills"}),
        result(""),
        call("Bash", {"command": f"cd /tmp && {again}"}, "c2"),
        result("", "c2"),
    )
    assert not parts.files_touched["/tmp/skills"].deleted
    other = after("Bash", {"command": f"cd /tmp && rm -rf tools && {again}"})
    assert other.files_touched["/tmp/tools"].deleted


def test_a_directory_that_is_made_is_no_change_by_itself():
    assert (
        after("Bash", {"command": "mkdir -p a/b && git clone https://a.org/x"}).files_touched == {}
    )
