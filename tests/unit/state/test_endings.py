"""How a command ended whose tool tells no exit code: by its own words, or not known."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from langledger.state.lines import last_action_line
from langledger.state.records import WorkingState
from langledger.state.runlines import command_lines
from tests.unit.state.folding import after, call, result, run

FAILED = [
    ("pytest -q tests", "FAILED tests/test_a.py::test_x - assert\n1 failed, 1 passed in 0.1s"),
    ("python -m unittest", "Ran 2 tests in 0.0s\n\nFAILED (failures=1)"),
    ("npx vitest run", " Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)"),
    ("npx vitest run", " ❯ src/a.test.ts (2 tests | 1 failed)\n   × login > rejects"),
    ("npx jest", "Tests:       1 failed, 5 passed, 6 total\nTime: 1.2 s"),
    ("npm test", "Tests: 2 failed, 3 passed, 5 total"),
    ("npm test", "npm ERR! Test failed.  See above for more details."),
    ("npx ava", "  ✖ rejects an expired token Error: expected 401\n  1 test failed"),
    ("npx mocha", "  3 passing (12ms)\n  1 failing"),
    ("bun test", " 3 pass\n 1 fail"),
    ("node --test", "ℹ tests 2\nℹ pass 1\nℹ fail 1"),
    ("bats test", "ok 1 a\nnot ok 2 b"),
    ("npx playwright test", "  1 failed\n    a.spec.ts:3:1 › logs in\n  4 passed (3.1s)"),
    ("go test ./...", "--- FAIL: TestX (0.00s)\nFAIL\tpkg/a\t0.01s\nok  \tpkg/b\t0.2s"),
    ("cargo test", "test result: FAILED. 1 passed; 1 failed; 0 ignored"),
    ("mvn test", "[ERROR] Tests run: 5, Failures: 1, Errors: 0\n[INFO] BUILD FAILURE"),
    ("gradle test", "5 tests completed, 1 failed\n\nBUILD FAILED in 3s"),
    ("dotnet test", "Failed!  - Failed:     1, Passed:     5, Skipped:     0"),
    ("rspec", "5 examples, 1 failure"),
    ("phpunit", "FAILURES!\nTests: 5, Assertions: 9, Failures: 1."),
    ("ctest", "80% tests passed, 1 tests failed out of 5"),
    ("mix test", "5 tests, 1 failure"),
    ("pytest", "python: No module named pytest"),
    ("pytest", "bash: line 1: pytest: command not found"),
    ("python test_a.py", 'Traceback (most recent call last):\n  File "a", line 1\nKeyError: 1'),
    ("pytest && ruff check .", "7 passed in 0.1s\nFound 2 errors."),
    ("npm test", "测试失败：2 个用例失败"),
    ("npx tsc", "src/a.ts(3,5): error TS2322: Type 'string' is not assignable"),
    ("ruff check .", "Found 3 errors."),
    ("ruff format --check .", "Would reformat: a.py\n1 file would be reformatted"),
    ("mypy src", "src/a.py:3: error: Incompatible types\nFound 1 error in 1 file"),
    ("eslint .", "✖ 3 problems (3 errors, 0 warnings)"),
    ("golangci-lint run", "1 issues:\n* dupl: 1"),
    ("make", "cc -c a.c\nmake: *** [Makefile:3: a.o] Error 1"),
    ("gcc a.c", "a.c:3:5: error: expected ';'"),
    ("cargo build", "error[E0277]: no\nerror: could not compile `a` due to 2 previous errors"),
    ("docker build .", "ERROR: failed to solve: process did not complete: exit code: 1"),
    ("docker build .", "The command '/bin/sh -c make' returned a non-zero code: 2"),
    ("npm run build", "npm error Missing script: build"),
    ("npm run build", "编译失败"),
    ("git push", " ! [rejected] main -> main (fetch first)\nerror: failed to push some refs"),
    ("git push", "git@host: Permission denied (publickey).\nfatal: Could not read from remote"),
    ("git merge x", "CONFLICT (content): Merge conflict in a.py\nAutomatic merge failed"),
    ("git commit -m x", "On branch main\nnothing to commit, working tree clean"),
    ("git commit -m x", "eslint....Failed\nhusky - pre-commit hook exited with code 1 (error)"),
    ("npm install", "npm ERR! code ERESOLVE\nnpm ERR! A complete log of this run is in x.log"),
    ("pip install a", "ERROR: No matching distribution found for a"),
    ("psql -f a.sql", 'psql:a.sql:1: ERROR:  relation "users" does not exist'),
    ("psql -f a.sql", 'ERROR:  relation "users" does not exist'),
    ("./deploy.sh", "uploading\nDeploy failed: no host"),
    ("./deploy.sh", "部署失败，超时"),
    ("./deploy.sh", "bash: ./deploy.sh: Permission denied"),
    ("frobnicate -x", "/bin/sh: 1: frobnicate: not found"),
    ("frobnicate -x", "zsh: command not found: frobnicate"),
    ("curl https://x", "curl: (7) Failed to connect to x port 443: Connection refused"),
    ("python a.py", 'Traceback\n  File "a.py", line 3, in <module>\nacme.NoSuchUser: 7'),
    ("node a.js", "Error: Cannot find module './b'"),
    ("terraform apply", "Error: timed out\n执行失败"),
    ("git rebase main", "error: could not apply 0a1b2c3... x\nhint: git rebase --continue"),
    ("git pull", "CONFLICT (content): Merge conflict in a.py\nhint: resolve them"),
    ("docker push x", "denied: requested access to the resource is denied"),
    ("kubectl apply -f a", 'Error from server (NotFound): namespaces "x" not found'),
    ("terraform apply", "╷\n│ Error: Invalid provider configuration\n│ \n╵"),
    ("mysql -e 'x'", "ERROR 1146 (42S02) at line 1: Table 'a.b' doesn't exist"),
    ("gh pr create", "pull request create failed: GraphQL: No commits"),
    ("node a.js", "Error: Cannot find module 'x'\n    at x (y)\n\nNode.js v20.1.0"),
    ("cargo run", "thread 'main' panicked at src/main.rs:3:5:\nboom\nnote: run with more"),
    ("php a.php", "PHP Fatal error:  Uncaught Error: no\nStack trace:\n#0 {main}\n  thrown"),
    ("ruby a.rb", "a.rb:1:in `<main>': undefined method `x' (NameError)"),
    ("./run", "./run: line 3:   123 Killed                  python big.py"),
    ("./run", "错误：权限不足"),
    ("python a.py", "bash: python: 未找到命令"),
    ("sleep 100", "Command timed out after 30 seconds"),
    ("cat a.py", "cat: a.py: No such file or directory"),
    ("cp a b", "cp: cannot stat 'a': No such file or directory"),
]  # fmt: skip

WENT_WELL = [
    ("pytest -q tests", "ERROR root: a log line\n..\n2 passed, 1 xfailed in 0.1s"),
    ("npx vitest run", " Tests  8 passed (8)\n Duration  62.96s"),
    ("npx jest", "Tests:       6 passed, 6 total"),
    ("npx mocha", "  Error: shown by a test\n  3 passing (12ms)"),
    ("bun test", " 3 pass\n 0 fail"),
    ("node --test", "ℹ tests 2\nℹ pass 2\nℹ fail 0"),
    ("go test ./...", "--- PASS: TestError (0.00s)\nPASS\nok  \tpkg/a\t0.01s"),
    ("cargo test", "test result: ok. 2 passed; 0 failed; 0 ignored"),
    ("mvn test", "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS"),
    ("dotnet test", "Passed!  - Failed:     0, Passed:     5, Skipped:     0"),
    ("rspec", "5 examples, 0 failures"),
    ("phpunit", "OK (5 tests, 9 assertions)"),
    ("ctest", "100% tests passed, 0 tests failed out of 5"),
    ("npm test", "全部测试通过：12 个通过，0 个失败"),
    ("ruff check .", "All checks passed!"),
    ("eslint .", "✖ 3 problems (0 errors, 3 warnings)"),
    ("mypy src", "Success: no issues found in 3 source files"),
    ("golangci-lint run", "0 issues."),
    ("git commit -m x", "[main 0a1b2c3] fix: 3 errors in the parser\n 1 file changed"),
    ("git commit -qm x", ""),
    ("git push", "   1111111..2222222  main -> main"),
    ("npm install", "added 3 packages in 2s\n\nfound 0 vulnerabilities"),
    ("./deploy.sh", "uploaded\nhttps://x.example.org is live"),
    ("npm run build", "✓ built in 1.2s"),
    ("docker build .", "Successfully built abc\nSuccessfully tagged x:1"),
    ("python a.py", "processed 10 rows, 0 errors"),
    ("./deploy.sh", "no errors\ndeployed"),
    ("cat errors.log", "bash: x: command not found\nand more\nTypeError: no"),
    ("grep -rn failed src", "src/a.py: failed\nsrc/b.py: 3 failed"),
    ("cp a b", ""),
]  # fmt: skip

UNDECIDED = [
    ("pytest -q tests", "collecting ..."),
    ("make", "linked"),
    ("go build ./...", ""),
    ("npm run check", "> app@1 check\n> tsc --noEmit\n"),
    ("gcc a.c", "a.c:3:5: warning: unused variable"),
    ("pytest; ./report", "3 passed in 0.1s\nreport: 2 tables could not be read, failed over"),
    ("curl -si https://x", "HTTP/1.1 500 Internal Server Error\n\n{}"),
    ("curl -sI https://x", "HTTP/2 503 \nserver: x\ndate: y\nage: 0\nvia: z"),
    ("python a.py", "Traceback (most recent call last):\nKeyError: 1\ngot over it\na\nb\nc"),
    ("python a.py", "Error occurred: no rows\ngoing on"),
    ("./deploy.sh", "wait\nrequest timed out, trying again"),
]


def ended(state: WorkingState) -> tuple[bool | None, str]:
    (record,) = state.commands.values()
    assert state.last_action is not None
    assert record.failures == (record.ok is False)
    return record.ok, state.last_action.status


@pytest.mark.parametrize(("command", "output"), FAILED)
def test_what_failed_is_never_ok(command: str, output: str):
    assert ended(after("bash", {"command": command}, output)) == (False, "failed")


@pytest.mark.parametrize(("command", "output"), WENT_WELL)
def test_what_went_well_is_ok(command: str, output: str):
    assert ended(after("bash", {"command": command}, output)) == (True, "ok")


@pytest.mark.parametrize(("command", "output"), UNDECIDED)
def test_what_words_do_not_decide_is_shown_as_it_was_said(command: str, output: str):
    state = after("bash", {"command": command}, output)
    assert ended(state) == (None, "ended")
    assert state.last_action is not None
    told = [last_action_line(state.last_action), *(line for _, line in command_lines_of(state))]
    for line in told:
        assert "ok" not in line.split()
        assert "done" not in line


def command_lines_of(state: WorkingState) -> list[tuple[int, str]]:
    return list(command_lines(state.commands.values()))


def test_an_exit_code_counts_for_more_than_words():
    for code, ok in ((0, True), (1, False)):
        text = f"1 failed, 1 passed\nExit code: {code}"
        assert ended(after("bash", {"command": "pytest"}, text))[0] is ok


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_code_beside_a_result_counts(code: int):
    answer = ToolMessage("linked", tool_call_id="c1", artifact={"exit_code": code})
    (record,) = run(call("shell", {"command": "make"}), answer).commands.values()
    assert (record.ok, record.exit_code) == (code == 0, code)


def test_a_tool_that_tells_of_failures_was_silent_because_it_went_well():
    first = [call("Bash", {"command": "make a"}), result("Exit code 2\nno", error=True)]
    then = [call("Bash", {"command": "make b"}, "c2"), result("", "c2")]
    assert {r.command: r.ok for r in run(*first, *then).commands.values()} == {
        "make a": False,
        "make b": True,
    }
    other = [call("shell", {"command": "make b"}, "c2"), result("", "c2")]
    assert run(*first, *other).commands["make b"].ok is None


def test_of_two_calls_at_once_neither_tells_of_the_other():
    calls = AIMessage(
        "",
        tool_calls=[
            {"name": "Bash", "args": {"command": f"make {name}"}, "id": name} for name in "ab"
        ],
    )
    answers = [result("Exit code 2\nno", "a", error=True), result("", "b")]
    assert run(calls, *answers) == run(calls, *reversed(answers))
    assert run(calls, *answers).commands["make b"].ok is None


ACTS = [
    ("deploy", "uploading\nDeploy failed: no host", "failed"),
    ("deploy", "部署失败：连接超时", "failed"),
    ("deploy", "Deployed to eu-1; 0 failed", "ok"),
    ("send_mail", '{"error": "no such recipient"}', "failed"),
    ("send_mail", '{"id": 7, "success": false}', "failed"),
    ("send_mail", '{"id": 7, "error": null, "status": "sent"}', "ok"),
    ("post_comment", "HTTP 500 Internal Server Error", "failed"),
    ("restart", "Permission denied", "failed"),
    ("restart", "timed out", "failed"),
    ("run_tests", "FAILED a.py::x\n1 failed, 3 passed in 0.1s", "failed"),
    ("run_tests", "4 passed in 0.1s", "ok"),
    ("run_tests", "started", "ended"),
    ("lint", "Found 2 errors.", "failed"),
    ("research", "The tests failed because the port is taken. It can be moved.", "ok"),
    ("search_docs", "Error: how to handle one", "failed"),  # a tool's own prefix, as before
    ("search_docs", "Deploy failed: what to do", "ok"),
    ("get_logs", '{"error": "what stood in the log"}', "ok"),
]


@pytest.mark.parametrize(("tool", "output", "status"), ACTS)
def test_a_tool_that_is_no_shell_is_judged_by_its_answer(tool: str, output: str, status: str):
    state = after(tool, {"target": "eu-1"}, output)
    assert state.last_action is not None
    assert state.last_action.status == status
