"""Shell commands: what they did to files, and how they ended."""

from __future__ import annotations

import pytest
from langchain_core.messages import BaseMessage, ToolMessage

from langledger.state.fold import StateFold
from langledger.state.render import BRIDGE, render_state
from langledger.tokens import count_text
from tests.unit.state.folding import CWD, SUCCESS, after, call, done, result, run


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


@pytest.mark.parametrize(
    ("script", "last"),
    [
        ("find . -name 'a.py' -delete", "delete"),
        ("find src -type f -name '*.py' -exec rm -f {} +", "delete"),
        ("find . -name b.py -delete", "write"),
        ("find . -mtime +3 -delete", "write"),
        ("find . -name a.py", "write"),
        ("git stash -u", "restore"),
        ("git stash push -m later", "restore"),
        ("git stash list", "write"),
        ("git stash && pytest; git stash pop", "write"),
    ],
)
def test_files_that_are_found_or_put_aside(script: str, last: str):
    wrote = call("Write", {"file_path": "src/a.py", "content": "x\n"})
    state = run(wrote, result(SUCCESS), call("Bash", {"command": script}, "c2"), result("", "c2"))
    assert done(state)[-1] == ("src/a.py", last)


@pytest.mark.parametrize(
    ("script", "there"),
    [("git clean -fd", False), ("git clean -n -fd", True), ("git stash", True)],
)
def test_what_is_new_is_cleaned_and_not_put_aside(script: str, there: bool):
    state = run(
        call("Bash", {"command": "touch new.py"}),
        result(""),
        call("Bash", {"command": script}, "c2"),
        result("", "c2"),
    )
    assert done(state)[-1] == ("new.py", "create" if there else "delete")


@pytest.mark.parametrize("undo", ["git stash", "git reset --hard"])
def test_what_was_deleted_is_not_put_aside_and_what_was_put_aside_says_so(undo: str):
    state = run(
        call("Write", {"file_path": "a.py", "content": "x\n"}),
        result(SUCCESS),
        call("Bash", {"command": "git rm -f a.py"}, "c2"),
        result("rm 'a.py'", "c2"),
        call("Edit", {"file_path": "b.py", "old_string": "x", "new_string": "y"}, "c3"),
        result(SUCCESS, "c3"),
        call("Bash", {"command": undo}, "c4"),
        result("done", "c4"),
    )
    text = render_state(state, max_tokens=1000, count=count_text)
    changed, _, rest = text.partition(BRIDGE)
    assert "- a.py (deleted)" in changed
    assert "b.py" not in changed
    how = "put aside by git stash" if undo == "git stash" else "reverted"
    assert f"## Changed and put back since (1)\n- b.py ({how})" in rest


def test_what_comes_back_from_the_stash_is_changed_again():
    state = run(
        call("Write", {"file_path": "a.py", "content": "x\n"}),
        result(SUCCESS),
        call("Bash", {"command": "git stash"}, "c2"),
        result("Saved working directory", "c2"),
        call("Bash", {"command": "git reset --hard"}, "c3"),  # does not reach what is put aside
        result("HEAD is now at 1234567 x", "c3"),
        call("Bash", {"command": "git stash pop"}, "c4"),
        result("Dropped refs/stash@{0}", "c4"),
    )
    assert done(state) == [("a.py", "edit")]


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


def test_a_script_of_several_commands_records_them_all():
    script = 'tools.exec_command({cmd:"cargo test"}); tools.exec_command({cmd:"ls src"})'
    (command,) = after("exec", {"input": script}, "Script completed\nOutput:\n").commands.values()
    assert (command.command, command.kind) == ("cargo test; ls src", "test")


OUTCOMES = [
    # the exit code is the filter's: only the words tell, where they do
    ("go build . 2>&1 | head -30", "a.go:8:1: undefined: x", False, "a.go:8:1: undefined: x"),
    ("pytest -q | tail -5", "....\n7 passed in 1.2s", True, "7 passed in 1.2s"),
    ("pytest -q | tail -5", "1 failed, 6 passed in 1.2s", False, "1 failed, 6 passed in 1.2s"),
    ("pytest -q; echo done", "done", None, "done"),
    ("npm test > log 2>&1; tail -1 log", "FAIL src/a.test.js", False, "FAIL src/a.test.js"),
    ("pytest -q > log 2>&1; cat log", "7 passed in 1.2s", True, "7 passed in 1.2s"),
    ("pytest -q > log || tail -1 log", "something", None, "something"),
    ("pytest -q > log; test -s log", "exit code: 0", True, ""),
    ("./deploy.sh | tail -1", "error: no host", None, "error: no host"),
    ("set -o pipefail; make | tail -1", "linked\nexit code: 0", True, "linked"),
    ("cat a.log && make", "linked\nexit code: 0", True, "linked"),
    # the line that tells most
    ("npm run check", "> app@1 check\n> tsc --noEmit\n", None, ""),
    ("git commit -m x", "[main 0a1b2c3] x\n create mode 100644 a", True, "[main 0a1b2c3] x"),
    ("npm test", " Tests  8 passed (8)\n Duration  62.96s", True, "Tests 8 passed (8)"),
    ("black a", "1 file done\n[This command modified 1 file you've read]", None, "1 file done"),
    ("curl x", '{\n "id": 7\n}\n', True, '"id": 7'),
    ("python a.py", "no\n[Python Interpreter: /opt/py]", True, "no"),
    ("make", "Check compilation\n\n`make`\n\n```text\nlinked\n```", None, "linked"),
    ("make", "Check compilation\n\n`make`", None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output", "ok", "outcome"), OUTCOMES)
def test_how_a_command_ended_is_told_by_what_its_output_and_its_exit_code_can_tell(
    command: str, output: str, ok: bool | None, outcome: str
):
    state = after("Bash", {"command": command}, output)
    (record,) = state.commands.values()
    assert (record.ok, record.outcome, record.failures) == (ok, outcome, ok is False)
    assert state.last_action is not None
    assert state.last_action.status == {True: "ok", False: "failed", None: "ended"}[ok]


def test_a_call_refused_in_the_log_of_a_host_that_repeats_it_has_no_outcome():
    text = "Run it\n\n`make x`\n\n```text\nThe user doesn't want to proceed with this tool use."
    state = after("Bash", {"command": "make x"}, text)
    assert state.last_action is not None
    assert (state.last_action.status, state.commands) == ("refused", {})


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("git tag v1", "commit"),
        ("git tag", "inspect"),
        ("git tag --sort=-v:refname | head", "inspect"),
        ("git tag -l", "inspect"),
    ],
)
def test_tags_are_made_by_name(command: str, kind: str):
    (record,) = after("Bash", {"command": command}).commands.values()
    assert record.kind == kind
