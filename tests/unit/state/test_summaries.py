"""What describes an edit: what was touched, words for a reader, or nothing."""

from __future__ import annotations

import pytest

from langledger.state.arguments import read_arguments
from langledger.state.patch import patch_changes
from langledger.state.summaries import described, edit_summary


@pytest.mark.parametrize(
    "line",
    [
        "async def login(user):",
        "pub(crate) fn parse(x: &str) -> u8 {",
        "func (s *Server) Start() error {",
        "export default class App extends React.Component {",
        "const submit = async (event) => {",
        "## Deterministic port fallback",
        "[tasks.test]",
        'describe("replay", () => {',
        "// Handle telemetry for non-interactive mode",
        "- The bridge line turns the list into a constraint.",
        "这个函数检查用户的登录状态",
    ],
)
def test_what_names_or_explains_the_change_describes_it(line: str):
    assert described(["x = 1", line]) == line


@pytest.mark.parametrize(
    "line",
    [
        '"os"',
        "#[tokio::test]",
        "Endpoint: PostHogEndpoint,",
        "from a.b import c as d",
        "use crate::hybrid::HybridBackend;",
        "App, Listener, Manager, State,",
        "return x",
        "}",
        "@pytest.fixture",
        "status, err := gitutil.WorktreeStatus(repo)",
    ],
)
def test_an_accidental_line_is_no_description(line: str):
    assert described([line]) == ""
    assert described([], removed=[line]) == ""


def test_a_definition_goes_before_the_comment_above_it():
    assert described(["// counts the tokens of a text", "fn count() {"]) == "fn count() {"


def test_else_the_function_around_is_named_or_the_one_taken_away():
    assert described(["return 2"], around=["def f():", "x = 1"]) == "in def f():"
    assert described([], removed=["}", "func gone() {"]) == "removed: func gone() {"


def test_a_lone_comment_is_no_heading_around_an_edit():
    assert described(["return 2"], around=["# first"]) == ""


def test_an_edit_is_described_by_its_old_and_new_text():
    edit = {"old_string": "def f():\n    return 1", "new_string": "def f():\n    return 2"}
    assert edit_summary(read_arguments(edit)) == "in def f():"
    gone = {"old_string": 'import (\n"os"\n"fmt"\n)', "new_string": 'import (\n"fmt"\n)'}
    assert edit_summary(read_arguments(gone)) == ""


def test_a_hunk_is_described_by_the_function_git_names_after_it():
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@ def outer(a):\n x\n-y = 1\n+y = 2\n"
    assert patch_changes(diff)[0].summary == "in def outer(a):"
