"""Which results say that a call worked."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from tests.unit.state.folding import SUCCESS, after, call, done, run

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
    ("text", "told"),
    [
        ("ERROR:\nNo replacement was performed.\nMore.", "ERROR: No replacement was performed."),
        ("Error:\n\n  String not found in file", "Error: String not found in file"),
        ("Error: boom\nat line 3", "Error: boom"),
        ("ERROR:", "ERROR:"),
    ],
)
def test_a_failure_is_told_by_its_reason_not_by_its_label(text: str, told: str):
    state = after("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, text)
    assert state.last_action is not None
    assert (state.last_action.status, state.last_action.result) == ("failed", told)


def test_a_command_that_failed_is_told_by_its_reason_not_by_its_label():
    text = "building\nBuild error:\n  no rule to make target\n[exit code: 2]"
    state = after("Bash", {"command": "make"}, text, error=True)
    assert state.last_action is not None
    assert state.last_action.result == "Build error: no rule to make target"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("some words of it " * 200, "…of it some words"),
        ('{"avatar_url":"https://example.org/a"},' * 100, '…org/a"},{"avatar_url'),
        (f"{'x' * 900}\n{'whole line ' * 181}", "whole line whole"),
    ],
)
def test_the_end_of_a_long_line_begins_at_a_word_and_says_that_it_was_cut(text: str, told: str):
    state = after("Bash", {"command": "curl example.org"}, text)
    assert state.last_action is not None
    assert state.last_action.result.startswith(told)


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
