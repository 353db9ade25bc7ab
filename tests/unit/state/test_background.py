"""Commands left running: a later call's result tells how they ended, in one place and once."""

from __future__ import annotations

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from langledger.state.fold import StateFold
from langledger.state.lines import command_line, last_action_line
from langledger.state.records import CommandRecord, WorkingState
from tests.unit.state.folding import call, result, run

START = 'const r = await tools.exec_command({cmd:"cargo test"}); text(r.output);'
POLL = 'let {output, ...rest} = await tools.write_stdin({session_id:13199, chars:""}); text(rest);'
LEFT = "Script completed\nWall time 1.2 seconds\nOutput:\n\n\nSESSION_ID=13199"
CELL = "Script running with cell ID 15\nWall time 10.0 seconds\nOutput:\n"
STILL = 'Script completed\nOutput:\n\n{"chunk_id":"a","session_id":13199}\nCompiling x'
GREEN = 'Script completed\nOutput:\n\n{"chunk_id":"a","exit_code":0}\n3 tests passed\n'
RED = 'Script completed\nOutput:\n\n{"chunk_id":"a","exit_code":101}\nerror: 1 test failed\n'


def started() -> list[BaseMessage]:
    return [call("exec", {"input": START}, "a"), result(LEFT, "a")]


def only(state: WorkingState) -> CommandRecord:
    (record,) = state.commands.values()
    return record


def test_a_poll_of_the_session_tells_how_the_command_ended_and_where():
    state = run(*started(), call("exec", {"input": POLL}, "b"), result(GREEN, "b"))
    record = only(state)
    assert (record.ok, record.exit_code, record.runs, record.running) == (True, 0, 1, False)
    assert command_line(record) == "- `cargo test` ok: 3 tests passed [#0, #2]"


def test_a_poll_left_running_in_a_cell_is_followed_to_its_end():
    state = run(
        *started(),
        *(call("exec", {"input": POLL}, "b"), result(STILL, "b")),
        *(call("exec", {"input": POLL}, "c"), result(CELL, "c")),
        *(call("wait", {"cell_id": "15", "max_tokens": 9}, "d"), result(RED, "d")),
    )
    record = only(state)
    assert (record.ok, record.exit_code, record.failures) == (False, 101, 1)
    assert command_line(record).endswith("failed, exit 101: error: 1 test failed [#0, #6]")


def test_until_then_command_and_last_action_both_say_that_it_runs():
    state = run(*started())
    assert command_line(only(state)) == "- `cargo test` still running [#0]"
    assert state.last_action is not None
    assert "→ still running [#0] Ask for its result" in last_action_line(state.last_action)
    assert state.last_action.ok is None


def test_an_unknown_end_is_left_out_of_both_lines():
    state = run(call("exec", {"input": START}), result("Script completed\nOutput:\n\n2 passed"))
    assert command_line(only(state)) == "- `cargo test`: 2 passed [#0]"
    assert state.last_action is not None
    assert state.last_action.ok is None
    assert "→ 2 passed [#0]" in last_action_line(state.last_action)


def test_a_session_of_the_shell_tool_itself_is_followed_too():
    running = "Chunk ID: a1\nWall time: 1 seconds\nProcess running with session ID 7\nOutput:\n"
    ended = "Chunk ID: a2\nWall time: 1 seconds\nProcess exited with code 2\nOutput:\nerror: x"
    messages = (call("exec_command", {"cmd": "make"}, "a"), result(running, "a"))
    assert only(run(*messages)).running
    asked = call("write_stdin", {"session_id": 7, "chars": ""}, "b")
    assert only(run(*messages, asked, result(ended, "b"))).exit_code == 2


IN_BACKGROUND = "Command running in background with ID: b5l. Output is being written to: /tmp/x"
BASH = [call("Bash", {"command": "pytest", "run_in_background": True}, "a")]


@pytest.mark.parametrize(
    ("tool", "name", "text", "ok"),
    [
        ("BashOutput", "bash_id", "<status>completed</status>\n\n<exit_code>0</exit_code>", True),
        ("BashOutput", "bash_id", "<status>failed</status>\n\n<exit_code>1</exit_code>", False),
        (
            "TaskOutput",
            "task_id",
            "<task_id>b5l</task_id>\n\n<status>completed</status>\n\n<exit_code>0</exit_code>",
            True,
        ),
        ("KillShell", "shell_id", '{"message":"Successfully killed shell: b5l"}', None),
    ],
)
def test_a_background_shell_is_told_by_the_tools_that_ask_for_it(
    tool: str, name: str, text: str, ok: bool | None
):
    left = [*BASH, result(IN_BACKGROUND, "a")]
    assert command_line(only(run(*left))) == "- `pytest` still running [#0]"
    record = only(run(*left, call(tool, {name: "b5l"}, "b"), result(text, "b")))
    assert (record.ok, record.running, record.told) == (ok, False, (2, 0))


def test_output_asked_for_before_the_end_leaves_it_running():
    asked = call("BashOutput", {"bash_id": "b5l"}, "b")
    told = result("<status>running</status>\n\n<stdout>\n.....\n</stdout>", "b")
    assert only(run(*BASH, result(IN_BACKGROUND, "a"), asked, told)).running


@pytest.mark.parametrize("code", [0, 3])
def test_a_notice_of_the_end_settles_the_command_and_the_last_action(code: int):
    notice = HumanMessage(
        "<task-notification>\n<task-id>b5l</task-id>\n<status>completed</status>\n"
        f'<summary>Background command "x" completed (exit code {code})</summary>\n'
        "</task-notification>"
    )
    state = run(*BASH, result(IN_BACKGROUND, "a"), notice)
    assert only(state).ok is (code == 0)
    assert state.last_action is not None
    assert state.last_action.ok is (code == 0)


def test_asking_in_vain_says_nothing_of_the_command():
    asked = call("BashOutput", {"bash_id": "b5l"}, "b")
    gone = result("No shell found with ID: b5l", "b", error=True)
    assert only(run(*BASH, result(IN_BACKGROUND, "a"), asked, gone)).ok is None


def test_an_id_nobody_gave_changes_nothing():
    asked = call("BashOutput", {"bash_id": "other"}, "b")
    ended = result("<status>completed</status>\n<exit_code>0</exit_code>", "b")
    assert only(run(*BASH, result(IN_BACKGROUND, "a"), asked, ended)).running


def test_a_later_run_of_the_same_command_is_not_told_by_the_end_of_the_earlier():
    again = [call("Bash", {"command": "pytest"}, "b"), result("2 passed", "b")]
    asked = call("BashOutput", {"bash_id": "b5l"}, "c")
    ended = result("<status>failed</status>\n<exit_code>1</exit_code>", "c")
    state = run(*BASH, result(IN_BACKGROUND, "a"), *again, asked, ended)
    assert (only(state).ok, only(state).outcome, only(state).runs) == (True, "2 passed", 2)


def test_words_about_sessions_in_ordinary_output_leave_nothing_running():
    text = "command was running in background\nsession id: 12"
    assert only(run(call("Bash", {"command": "cat log"}), result(text))).ok is True


def test_a_command_left_running_is_followed_through_json():
    half = run(*started()).model_dump_json(exclude_defaults=True)
    folding = StateFold(WorkingState.model_validate_json(half))
    folding.add(call("exec", {"input": POLL}, "b"), 2)
    folding.add(result(GREEN, "b"), 3)
    assert only(folding.state).ok is True
