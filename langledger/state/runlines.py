"""The lines of the commands that mattered: those that tested, built, checked, committed or ran.

Variants of one command, which differ in how their output is cut, are one line with the newest
outcome. Commits are told by their subjects; what was pushed, tagged, merged or opened for review
by its command. Of older runs those that failed come first. Commands that only look or edit have
no line: what they read and changed has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from langledger.state.lines import brief_command_line, command_line, data, references
from langledger.state.records import CommandRecord, Position

__all__ = ["command_lines"]

_KEY_KINDS = ("test", "build", "lint", "commit")
_FULL = {"test": 3, "build": 3, "lint": 3, "commit": 1, "other": 5}
_BRIEF = {"test": 4, "build": 3, "lint": 3, "other": 4}
_MAX_COMMITS = 14
_AS_KEY, _AS_BRIEF, _AS_OTHER, _AS_BRIEF_OTHER = 4, 7, 7, 9

_OUTPUT = re.compile(r"\s*(?:2>&1|[12&]?>\s*/dev/null|\|\s*(?:head|tail)\b[^|;&]*)")
_SETTING = re.compile(r"\A(?:cd \S+ && |[A-Z_]+=\S+ )+")
_PUBLISHES = re.compile(
    r"\bgh (?:pr|release) (?:create|merge|close|reopen|ready|edit|upload|delete)\b"
)
_COMMITTED = re.compile(r"\[[\w./@-]+ (?:\(root-commit\) )?[0-9a-f]{7,}\] \S")


def command_lines(commands: Iterable[CommandRecord]) -> Iterator[tuple[int, str]]:
    """Yield each line with its priority, the lowest of which is kept longest.

    Args:
        commands: In any order; told by kind, the newest of each first.
    """
    ranked = _without_variants(sorted(commands, key=_newest, reverse=True))
    for kind in (*_KEY_KINDS, "other"):
        same = [command for command in ranked if _shown_as(command) == kind]
        full, rest = same[: _FULL[kind]], same[_FULL[kind] :]
        key = kind in _KEY_KINDS
        yield from ((_AS_KEY if key else _AS_OTHER, command_line(command)) for command in full)
        if kind == "commit":
            yield from _earlier_commits(rest)
        for command in _failed_first(rest, _BRIEF.get(kind, 0)):
            yield _AS_BRIEF if key else _AS_BRIEF_OTHER, brief_command_line(command)


def _without_variants(ranked: list[CommandRecord]) -> list[CommandRecord]:
    """Leave out what was run again since with its output cut otherwise; its runs count."""
    newest: dict[str, CommandRecord] = {}
    for command in ranked:
        core = _SETTING.sub("", _OUTPUT.sub("", command.command)) or command.command
        known = newest.get(core)
        if known is None:
            newest[core] = command
        else:
            newest[core] = known.model_copy(update={"runs": known.runs + command.runs})
    return list(newest.values())


def _shown_as(command: CommandRecord) -> str:
    return "commit" if _PUBLISHES.search(command.command) else command.kind


def _failed_first(ranked: list[CommandRecord], most: int) -> list[CommandRecord]:
    """Return some, the newest first: those that failed, and of the others what has room."""
    chosen = sorted(ranked, key=lambda command: command.ok is not False)[:most]
    return sorted(chosen, key=_newest, reverse=True)


def _earlier_commits(commands: list[CommandRecord]) -> Iterator[tuple[int, str]]:
    """Yield what is not the newest: commits by what git said of them, else the command."""
    for command in _failed_first(commands, _MAX_COMMITS):
        if _COMMITTED.match(command.outcome):
            source = references([command.sources[-1]])
            yield _AS_BRIEF, f"- committed {data(command.outcome, 100)} {source}"
        else:
            line = command_line if command.ok is False else brief_command_line
            yield _AS_BRIEF, line(command)


def _newest(command: CommandRecord) -> tuple[Position, str]:
    return command.position, command.command
