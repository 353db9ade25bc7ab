"""What holds for every command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from langledger.cli import build_app

# They answer until they are stopped, or print JSON anyway.
WITHOUT_JSON = {"ui", "mcp", "follow", "repo watch", "export", "state export"}


def walk(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)  # of a group
    if inner is None:
        yield name, command
        return
    if (default := getattr(command, "default_command", None)) is not None:
        yield name, default
    for part, below in inner.items():
        yield from walk(below, f"{name} {part}".strip())


APP = build_app()
COMMANDS = dict(walk(typer.main.get_command(APP)))


def call(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(APP, arguments, env={"COLUMNS": "60", "NO_COLOR": "1"})
    return done.exit_code, done.output


@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_explained_and_refuses_what_it_does_not_know(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert [p.name for p in command.params if not p.help and not p.hidden] == []
    code, out = call(*name.split(), "--help")
    assert (code, "Usage:" in out) == (0, True)
    assert max(map(len, out.splitlines())) <= 60
    code, out = call(*name.split(), "--no-such-option")
    assert code == 2
    assert "--no-such-option" in out


def test_every_answer_is_there_for_programs() -> None:
    takes = {name for name, c in COMMANDS.items() if any("--json" in p.opts for p in c.params)}
    assert COMMANDS.keys() - takes == WITHOUT_JSON


def test_the_shell_completes_commands_and_options() -> None:
    def completed(words: str) -> list[str]:
        count = str(len(words.split()) - 1)
        asked = {"COMP_WORDS": words, "COMP_CWORD": count, "_LANGLEDGER_COMPLETE": "complete_bash"}
        start = "import sys; sys.argv[0] = 'langledger'; from langledger.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", start],
            env={**os.environ, **asked},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.split()

    assert completed("langledger show x --vi") == ["--view"]
