"""Whatever a user can set, call or catch is documented, and nothing else is."""

from __future__ import annotations

import dataclasses
import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

import langledger
from langledger import CompactionReport, Ledger, errors, insert_compaction
from langledger.cli import build_app
from langledger.compaction.options import CompactionOptions
from langledger.config import PREFIX, Settings
from langledger.replay.run import Replay
from tests.conftest import ROOT
from tests.docs.conftest import blocks, pages

CLI = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
PYTHON = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
SETTINGS = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
SHARED = {"--database-url", "--dsn", "--data-dir", "--json"}


def commands() -> dict[str, Any]:
    """Return every command by what is typed for it."""

    def walk(command: Any, name: str) -> dict[str, Any]:
        inner = getattr(command, "commands", None)  # of a group
        if inner is None:
            return {name: command}
        found: dict[str, Any] = {}
        if (default := getattr(command, "default_command", None)) is not None:
            found[name] = default
        for part, below in inner.items():
            found |= walk(below, f"{name} {part}")
        return found

    return walk(typer.main.get_command(build_app()), "langledger")


def options(command: Any) -> set[str]:
    names = {name for parameter in command.params for name in parameter.opts}
    return {name for name in names if name.startswith("--")} - {"--help"}


def section(command: str) -> str:
    """Return what the reference says about a command."""
    match = re.search(
        rf"^## {re.escape(command)}\b[^\n]*\n(.*?)(?=^## |\Z)", CLI, re.MULTILINE | re.DOTALL
    )
    assert match, f"docs/reference/cli.md has no section on {command}"
    return match[1]


def names_in_first_column(table: str) -> set[str]:
    cells = re.findall(r"^\| ([^|]+)\|", table, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("name", commands())
def test_commands_and_their_options_are_documented(name: str) -> None:
    own = options(commands()[name])
    assert set(re.findall(r"`(--[\w-]+)`", section(name))) - SHARED == own - SHARED
    assert {option for option in own & SHARED if f"`{option}`" not in CLI} == set()


def test_no_section_is_about_a_command_that_is_gone() -> None:
    found = set(re.findall(r"^## (langledger[a-z -]*[a-z])", CLI, re.MULTILINE))
    assert found == set(commands())


def command_lines() -> list[tuple[Path, int, str]]:
    return [
        (page, block.line + number, line.removeprefix("$ "))
        for page in pages()
        for block in blocks(page, "console", "bash", "sh")
        for number, line in enumerate(block.code.splitlines())
        if line.removeprefix("$ ").startswith("langledger ")
    ]


@pytest.mark.parametrize(
    ("page", "number", "line"), command_lines(), ids=lambda value: str(value).rpartition("/")[2]
)
def test_command_lines_are_understood(page: Path, number: int, line: str) -> None:
    words = shlex.split(line.partition(" > ")[0])
    name = max((n for n in commands() if f"{' '.join(words)} ".startswith(f"{n} ")), key=len)
    arguments = words[len(name.split()) :]
    context = commands()[name].make_context(name, arguments)
    assert context.args == [], f"{page}:{number}"


def test_settings_are_documented() -> None:
    names = {PREFIX + name.upper() for name in Settings.model_fields}
    assert set(re.findall(r"^\| `(LANGLEDGER_\w+)`", SETTINGS, re.MULTILINE)) == names


def test_errors_are_documented() -> None:
    assert set(re.findall(r"^\| `(\w+Error)`", SETTINGS, re.MULTILINE)) == set(errors.__all__)


def test_exported_names_are_documented() -> None:
    table = PYTHON.partition("## Ledger")[0]
    assert set(re.findall(r"`(\w+)`", table)) >= set(langledger.__all__)


def test_options_are_documented() -> None:
    table = PYTHON.partition("## Options")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`(\w+)`", table))
    parameters = {
        *inspect.signature(Ledger.middleware).parameters,
        *inspect.signature(insert_compaction).parameters,
    } - {"self", "builder", "ledger", "options"}
    assert documented >= {*CompactionOptions.__annotations__, *parameters}


def test_methods_of_the_ledger_are_documented() -> None:
    table = PYTHON.partition("## Ledger")[2].partition("\n## ")[0]
    public = {name for name in dir(Ledger) if not name.startswith("_") and name != "executor"}
    assert {name for name in public if not re.search(rf"\b{name}\b", table)} == set()


def test_report_fields_are_documented() -> None:
    table = PYTHON.partition("## CompactionReport")[2].partition("\n## ")[0]
    documented = set(
        re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| ([^|]+)\|", table, re.MULTILINE)))
    )
    assert documented == set(CompactionReport.model_fields)


def test_keys_of_replay_are_documented() -> None:
    table = section("langledger replay").partition("With `--json`")[2]
    documented = set(
        re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| ([^|]+)\|", table, re.MULTILINE)))
    )
    assert documented == {field.name for field in dataclasses.fields(Replay)} | {"errors"}
