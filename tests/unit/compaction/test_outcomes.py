"""What an extractive summary says of the outputs of commands: each failure as it was, by name."""

from __future__ import annotations

import re

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from langledger.compaction.testlines import TestLines
from tests.support.summaries import call, result, summary


def after(*runs: tuple[str, str]) -> str:
    """The summary after commands with their outputs; the first output is entry 3."""
    messages: list[BaseMessage] = [HumanMessage("Fix it.")]
    for n, (command, output) in enumerate(runs):
        messages += [call("bash", f"c{n}", command=command), result(output, f"c{n}")]
    return summary(*messages)


@pytest.mark.parametrize(
    "errors",
    [
        [f'ERROR:  relation "{table}" does not exist' for table in ("users", "orders", "items")],
        ["ERROR: Cannot find module './a'", "ERROR: Cannot find module './b'"],
        ["AssertionError: expected 41 got 42", "AssertionError: expected 7 got 9"],
        ["ERROR: No matching distribution for foo==9", "ERROR: No space left on device"],
        ["错误：找不到文件 a.txt", "错误：找不到文件 b.txt"],
        ["Error: timeout after 30 s", "Error: timeout after 31 s"],
        [
            "ERROR: connection to 10.0.0.1:5432 refused",
            "ERROR: connection to 10.0.0.2:5433 refused",
        ],
    ],
)
def test_different_errors_of_different_commands_are_each_told(errors: list[str]):
    text = after(*[(f"run {n}", error) for n, error in enumerate(errors)])
    for n, error in enumerate(errors):
        assert f"{' '.join(error.split())} [#{2 * n + 3}]" in text
    assert "times" not in text


def test_the_same_error_of_different_commands_is_counted():
    text = after(("python a.py", "KeyError: 'id'"), ("python b.py", "KeyError: 'id'"))
    assert "KeyError: 'id' (2 times) [#3, #5]" in text


def test_errors_of_one_command_that_differ_in_numbers_are_no_repetition():
    text = after(("cat", "x"), *[("./load", f"Error: row {n} is bad") for n in (3, 9)])
    assert "Error: row 9 is bad (and 1 more like it) [#5, #7]" in text


def test_a_later_total_takes_the_place_of_the_one_before():
    text = after(
        ("pytest -q", "3 failed, 9 passed in 1s"), ("pytest -q", "2 failed, 9 passed in 1s")
    )
    assert "2 failed, 9 passed in 1s [#5]" in text
    assert "3 failed" not in text


@pytest.mark.parametrize(
    ("output", "committed"),
    [
        ("", True),
        ("[main 0a1b2c3] fix: 3 errors\n 1 file changed", True),
        ("On branch main\nnothing to commit, working tree clean", False),
        ("error: gpg failed to sign the data\nfatal: failed to write commit object", False),
        ("eslint....Failed\nhusky - pre-commit hook exited with code 1 (error)", False),
    ],
)
def test_a_commit_that_failed_without_an_exit_code_is_none(output: str, committed: bool):
    text = after(('git commit -m "Say so"', output))
    assert ("The assistant committed" in text) == committed


JEST = """FAIL src/auth.test.ts
  login
    ✕ should reject an expired token (12 ms)
    ✓ should accept a valid token (3 ms)
  logout
    ✕ works (4 ms)
  session
    ✓ works (1 ms)
Tests: 2 failed, 2 passed, 4 total"""
VITEST = """ ❯ src/auth.test.ts (4 tests | 2 failed)
   × login > should reject an expired token 12ms
   ✓ login > should accept a valid token 3ms
   × logout > works 4ms
   ✓ session > works 1ms"""
AVA = """  ✖ should reject an expired token Error: expected 401
  ✔ should reject nothing valid
  ✖ logout works"""
TAP = "not ok 1 - should reject an expired token\nok 2 - should accept\nnot ok 3 - works"


@pytest.mark.parametrize("output", [JEST, VITEST, AVA, TAP])
def test_each_test_that_failed_is_named(output: str):
    text = after(("npm test", output))
    assert "should reject an expired token" in text
    assert re.search(r"(?:✕|×|✖|not ok 3 -) (?:logout >? ?)?works", text)


def test_a_test_that_passes_later_failed_no_more():
    fixed = JEST.replace("✕ should reject", "✓ should reject")
    text = after(("npx jest src/auth.test.ts", JEST), ("npm test", fixed))
    assert "should reject" not in text
    assert "✕ works (4 ms) (2 times) [#3, #5]" in text


def test_a_file_of_tests_that_passes_has_none_that_failed():
    text = after(("npx jest src", JEST), ("npm test", "PASS src/auth.test.ts (2.1 s)"))
    assert "✕" not in text
    assert "FAIL" not in text


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("git push", "! [rejected] main -> main (fetch first)"),
        ("npm install", "npm error code ERESOLVE"),
        ("mvn test", "[ERROR] LoginTest.rejects:12 expected 1"),
        ("./deploy.sh", "Deploy failed: no host"),
        ("./deploy.sh", "部署失败，目标主机不可达"),
        ("curl -si x", "HTTP/1.1 500 Internal Server Error"),
        ("./a", "/bin/sh: 1: ./a: Permission denied"),
        ("node a.js", "Error: Cannot find module './b'"),
        ("curl x", "连接超时"),
        ("make", "make: *** [Makefile:3: a.o] Error 1"),
    ],
)
def test_a_failure_is_told_whatever_it_looks_like(command: str, line: str):
    assert line in after((command, line))


NAMES = [
    ("FAILED tests/test_a.py::test_x[a b] - assert 1 == 2", "tests/test_a.py::test_x[a b]", False),
    ("ERROR tests/test_a.py - ImportError: no", "tests/test_a.py", False),
    ("tests/test_a.py::test_x PASSED   [ 50%]", "tests/test_a.py::test_x", True),
    ("FAIL: test_x (tests.TestA.test_x)", "test_x (tests.TestA.test_x)", False),
    ("test_x (tests.TestA.test_x) ... ok", "test_x (tests.TestA.test_x)", True),
    ("    --- FAIL: TestX/sub (0.00s)", "TestX/sub", False),
    ("FAIL\tpkg/a\t0.01s", "pkg/a", False),
    ("ok  \tpkg/a\t(cached)", "pkg/a", True),
    ("test a::b ... FAILED", "a::b", False),
    ("    ✘ logs in (1.2s)", "logs in", False),
    ("  Failed Acme.Tests.Rejects [12 ms]", "Acme.Tests.Rejects", False),
    ("LoginTest > rejects() FAILED", "LoginTest > rejects()", False),
    ("rspec ./spec/a_spec.rb:12 # Login rejects", "Login rejects", False),
]


@pytest.mark.parametrize(("line", "name", "passed"), NAMES)
def test_a_test_is_known_by_its_name(line: str, name: str, passed: bool):
    told = TestLines().read(line)
    assert told is not None
    assert (told.name, told.passed) == (name, passed)


@pytest.mark.parametrize(
    "line",
    ['ERROR:  relation "users" does not exist', "ERROR: Cannot find module", "FAIL", "ok", "x × 3"],
)
def test_what_names_no_test_is_none(line: str):
    assert TestLines().read(line) is None


TODO = "TODO: rename foo_bar before release"
FIXME = "FIXME(anna): port 8443 is hard-coded"
CODE = f"def f():\n    # {TODO}\n    pass  # {FIXME}\n"


@pytest.mark.parametrize(
    ("name", "arguments", "output"),
    [
        ("bash", {"command": "cat a.py"}, CODE),
        ("read_file", {"path": "src/a.py"}, CODE),
        ("bash", {"command": "grep -rn . src"}, f"src/a.py:12:# {TODO}\nsrc/b.js:3:/* {FIXME} */"),
        ("bash", {"command": "./list"}, f"{TODO}\n{FIXME}"),
    ],
)
def test_what_is_still_to_be_done_in_files_is_told(
    name: str, arguments: dict[str, str], output: str
):
    text = summary(HumanMessage("Fix it."), call(name, "1", **arguments), result(output))
    assert text.count(TODO) == text.count(FIXME) == 1
    assert ("src/b.js:3: FIXME" in text) == ("src/b.js" in output)


@pytest.mark.parametrize(
    "edit",
    [
        {"path": "src/a.py", "old_string": f"# {TODO}", "new_string": ""},
        {"path": "src/a.py", "edits": [{"oldText": f"# {TODO}", "newText": "pass"}]},
        {"input": f"*** Begin Patch\n*** Update File: src/a.py\n-    # {TODO}\n+    pass"},
        {"path": "/repo/src/a.py", "content": f"pass  # {FIXME}"},
    ],
)
@pytest.mark.parametrize("works", [True, False])
def test_what_an_edit_took_out_is_done(edit: dict[str, str], works: bool):
    text = summary(
        HumanMessage("Fix it."),
        call("read_file", "1", path="src/a.py"),
        result(CODE),
        call("edit", "2", **edit),
        result("edited" if works else "error: not found", "2", failed=not works),
    )
    assert (TODO in text) == (not works)
    assert FIXME in text
    assert f"Written by edit: {TODO}" not in text


def test_the_same_search_again_tells_what_is_left():
    text = after(
        ("grep -n TODO *", f"a.py:1:# {TODO}\nb.py:1:# TODO drop it"), ("grep -n TODO *", "")
    )
    assert "rename foo_bar" not in text


def test_of_a_long_list_some_are_told():
    lines = "\n".join(f"a.py:{n}:# TODO: look at part {n} of it" for n in range(300))
    assert 3 <= after(("grep -n TODO *", lines)).count("TODO: look at part") <= 8
