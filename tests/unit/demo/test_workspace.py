"""The tools work on the repository, and on nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.tools import ToolException

from langledger.demo.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "repository")


def test_it_begins_under_version_control_with_nothing_changed(workspace: Workspace) -> None:
    assert workspace.changed() == frozenset()
    assert workspace.run_command("git log --format=%s") == "Start\nexit code 0"
    assert workspace.run_command("git status --porcelain") == "exit code 0"


def test_what_is_written_edited_moved_and_deleted_is_changed(workspace: Workspace) -> None:
    workspace.write_file("notes/new.md", "one\n")
    answer = workspace.edit_file("README.md", "# shelf\n", "# The shelf\n")
    workspace.run_command("git mv CHANGES.md docs/changes.md")
    workspace.run_command("git rm -q shelf/text.py")
    assert answer == "edited README.md at line 1"
    assert workspace.changed() == {
        "notes/new.md",
        "README.md",
        "CHANGES.md",
        "docs/changes.md",
        "shelf/text.py",
    }


def test_what_is_taken_back_is_not_changed(workspace: Workspace) -> None:
    workspace.write_file("README.md", "gone\n")
    workspace.run_command("git checkout -q README.md")
    assert workspace.changed() == frozenset()


def test_running_the_tests_leaves_no_trace_and_no_time(workspace: Workspace) -> None:
    first = workspace.run_command("python -m unittest")
    assert first.endswith("OK\nexit code 0")
    assert "Ran 22 tests in 0.00s" in first
    assert workspace.run_command("python -m unittest") == first
    assert workspace.changed() == frozenset()


def test_a_failing_command_tells_its_code_and_no_path_of_this_machine(workspace: Workspace) -> None:
    workspace.write_file("tests/test_fees.py", "import nothing_of_that_name\n")
    output = workspace.run_command("python -m unittest tests.test_fees")
    assert output.endswith("exit code 1")
    assert "nothing_of_that_name" in output
    assert str(workspace.folder) not in output


def test_an_edit_needs_its_text_exactly_once(workspace: Workspace) -> None:
    before = (workspace.folder / "shelf/items.py").read_text(encoding="utf-8")
    with pytest.raises(ToolException, match="occurs 0 times"):
        workspace.edit_file("shelf/items.py", "no such text", "x")
    with pytest.raises(ToolException, match=r"occurs \d+ times"):
        workspace.edit_file("shelf/items.py", "item", "x")
    assert (workspace.folder / "shelf/items.py").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/hostname", ".git/config", "docs/../.."])
def test_paths_outside_are_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolException, match="outside of the repository"):
        workspace.read_file(path)
    with pytest.raises(ToolException, match="outside of the repository"):
        workspace.write_file(path, "x")


@pytest.mark.parametrize("command", ["rm -rf .", "sh -c 'echo x'", ""])
def test_other_programs_are_refused(workspace: Workspace, command: str) -> None:
    with pytest.raises(ToolException, match="only python and git"):
        workspace.run_command(command)


def test_refusals_are_answers_to_the_agent(workspace: Workspace) -> None:
    tools = {tool.name: tool for tool in workspace.tools()}
    call = {"name": "read_file", "args": {"path": "none.py"}, "id": "c", "type": "tool_call"}
    message = tools["read_file"].invoke(call)
    assert message.content == "error: there is no none.py"
    assert message.status == "error"


def test_grep_names_file_and_line(workspace: Workspace) -> None:
    assert (
        workspace.grep("def late_fee")
        == "shelf/fees.py:18: def late_fee(kind, due, day, child=False):"
    )
    assert workspace.grep("no such thing") == "no match"
    assert workspace.grep("PERIODS =", "shelf/items.py").startswith("shelf/items.py:6:")


def test_without_git_it_is_a_plain_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    workspace = Workspace(tmp_path / "repository")
    assert not workspace.has_git
    with pytest.raises(ToolException, match="git is not installed"):
        workspace.run_command("git status")
    assert workspace.run_command("python -m unittest").endswith("exit code 0")
