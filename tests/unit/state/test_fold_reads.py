"""What was read, and what the newest call shows of itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.state.folding import after, done


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


@pytest.mark.parametrize(
    ("tool", "args", "shown"),
    [
        ("Grep", {"path": "src", "pattern": "def login"}, "def login in src"),
        ("Glob", {"pattern": "**/*.py"}, "**/*.py"),
        ("codebase_search", {"query": "where is login", "target": 3}, "where is login"),
        ("Grep", {"path": "src", "pattern": " "}, "src"),
        ("Read", {"file_path": "src/a.py"}, "src/a.py"),
        ("bash", {"command": "grep -rn x", "pattern": "y"}, "grep -rn x"),
    ],
)
def test_a_search_shows_what_it_looks_for_before_where(tool: str, args: dict[str, Any], shown: str):
    last = after(tool, args).last_action
    assert last is not None
    assert last.args == shown
