"""Render single records as lines of text.

What a tool, a file or a user said is data here: it is made one line, tags in it cannot close
or open a section, and it cannot pose as a reference to an entry.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

from langledger.state.records import (
    CommandRecord,
    FileRecord,
    LastAction,
    ReadRecord,
    Statement,
    TaskStep,
)
from langledger.state.text import one_line, printable

__all__ = [
    "brief_command_line",
    "command_line",
    "data",
    "done_line",
    "file_line",
    "group_lines",
    "last_action_line",
    "marks",
    "moved_from",
    "past_line",
    "path_text",
    "read_text",
    "references",
    "statement_line",
    "step_line",
]

_TAG = re.compile(r"<(?=[/!?]?[A-Za-z])")
_ODD_PATH = re.compile(r"[\s,()\"`]|\A-|: ")
_SYMBOLS = {
    "pending": "no result yet",
    "running": "still running",
    "ended": "",
    "ok": "ok",
    "failed": "failed",
    "refused": "not run",
}
_NOW = {"in_progress": " (in progress)", "updated": " (updated, status not recorded)"}
_ADVICE = {
    "running": "Ask for its result before doing it again.",
    "ended": "Go on from there.",
    "pending": "Check whether it took effect before doing it again.",
    "ok": "It is done; go on from there.",
    "failed": "It did not work; do not take it as done.",
    "refused": "The user or a rule decided so; do not repeat it unless asked.",
}


def data(text: str, limit: int = 160) -> str:
    """Return foreign text as one line that is only text."""
    return _TAG.sub("‹", one_line(text, limit)).replace("[#", "[ #")


def references(sources: Sequence[int]) -> str:
    """Return where something comes from, as ``[#12]`` or ``[#12 … #40]``; empty for nothing."""
    if not sources:
        return ""
    shown = [f"#{source}" for source in sources]
    return f"[{', '.join(shown)}]" if len(shown) <= 2 else f"[{shown[0]} … {shown[-1]}]"


def path_text(path: str) -> str:
    """Return a path, in quotes where it would not stand out as one word."""
    shown = _TAG.sub("‹", printable(path)).replace("[#", "[ #")
    return f'"{shown}"' if _ODD_PATH.search(shown) else shown


def moved_from(record: FileRecord) -> str | None:
    """Return the path an existing file was moved from last; None where it was not."""
    if record.deleted:
        return None
    moves = (c.other for c in reversed(record.actions) if c.action == "rename" and c.other)
    return next(moves, None)


def marks(record: FileRecord) -> str:
    """Return what was done to a file, in few words: ``new, 3 edits``."""
    last, source = record.actions[-1], moved_from(record)
    edits = sum(change.action == "edit" for change in record.actions)
    words: list[str] = []
    if source is not None:
        words.append(f"moved from {path_text(source)}")
    elif record.created and not record.deleted:
        words.append("new")
    if record.deleted:
        words.append(f"moved to {path_text(last.other)}" if last.other else "deleted")
    elif last.action == "restore":
        words.append(data(last.summary, 80) or "reverted")  # how, where it can come back
    elif last.action == "create" and any(change.action == "delete" for change in record.actions):
        words.append("deleted and made anew")
    elif any(change.action == "write" for change in record.actions):
        words.append("written")
    if edits > 1 and not record.deleted:
        words.append(f"{edits} edits")
    return ", ".join(words)


def file_line(path: str, record: FileRecord, *, details: bool) -> str:
    """Return the line of one file, with what changed last and where it was changed."""
    marked = marks(record)
    line = f"- {path_text(path)}" + (f" ({marked})" if marked else "")
    if not details:
        return line
    summary = data(record.summary, 80) if record.summary and not record.deleted else ""
    return (
        f"{line}: {summary} {references(record.sources)}"
        if summary
        else (f"{line} {references(record.sources)}")
    )


def group_lines(
    files: Sequence[tuple[str, FileRecord]], *, marked: bool, cited: bool = False
) -> list[str]:
    """Return files by directory, one line a directory, each in the order given.

    Args:
        files: By path.
        marked: With what was done to each.
        cited: With where the changes of a directory come from.
    """
    groups: dict[str, list[str]] = {}
    sources: dict[str, set[int]] = {}
    for path, record in files:
        directory, name = posixpath.split(path)
        note = marks(record) if marked else ("deleted" if record.deleted else "")
        text = path_text(name) + (f" ({note})" if note else "")
        groups.setdefault(directory, []).append(text)
        sources.setdefault(directory, set()).update(record.sources if cited else ())
    lines: list[str] = []
    for directory, names in groups.items():
        told = f"{path_text(directory.rstrip('/') + '/')}: " if directory else ""
        line = f"- {told}{', '.join(names)} {references(sorted(sources[directory]))}"
        lines.append(line.rstrip())
    return lines


def last_action_line(action: LastAction) -> str:
    """Return the line of the newest call, and what to make of it."""
    call = f"{data(action.tool, 60) or 'a tool'}: {data(action.args, 120)}".rstrip(": ")
    told = (_SYMBOLS[action.status], data(action.result, 120))
    ended = ": ".join(part for part in told if part)
    reference = references([action.source])
    return f"- {call}{f' → {ended}' if ended else ''} {reference} {_ADVICE[action.status]}"


def step_line(step: TaskStep) -> str:
    """Return the line of a step that is not known to be finished."""
    now = _NOW.get(step.status, "")
    return f"- {data(step.step) or 'a step'}{now} {references(step.sources[-1:])}"


def statement_line(statement: Statement, *, against: str = "") -> str:
    """Return the line of a statement that holds, with its reason.

    Args:
        statement: What it says.
        against: Id of what the user said that it is contrary to, where that holds still.
    """
    why = f" — {data(statement.why, 200)}" if statement.why else ""
    told = f" (the agent's own; {against} is the user's, says the contrary and holds)"
    said = f"- {statement.id}: {data(statement.what, 240)}{why}{told if against else ''}"
    return f"{said} {references(statement.sources)}".rstrip()


def done_line(step: TaskStep) -> str:
    """Return the line of a finished step."""
    at = step.completed if step.completed >= 0 else step.sources[-1]
    shown = data(step.evidence, 50).replace("`", "'")
    checked = f" (after `{shown}` went well)" if shown else ""
    return f"- done: {data(step.step, 100) or 'a step'}{checked} {references([at])}"


def past_line(statement: Statement) -> str:
    """Return the line of a statement that holds no longer."""
    instead = f", now {statement.superseded_by}" if statement.superseded_by else ""
    said = f"- no longer valid{instead}: {statement.id}: {data(statement.what, 100)}"
    return f"{said} {references(statement.sources)}".rstrip()


def command_line(command: CommandRecord) -> str:
    """Return the line of a command with how it ended last, as far as that is known."""
    words = _ending(command)
    if command.runs > 1:
        words.append(f"run {command.runs} times")
    ended = f" {', '.join(words)}" if words else ""
    outcome = f": {data(command.outcome, 100)}" if command.outcome else ""
    told = [command.told[0]] if command.told > command.position else []
    source = references([command.sources[-1], *told])
    return f"- {_shown(command, 140)}{ended}{outcome} {source}"


def brief_command_line(command: CommandRecord) -> str:
    """Return the line of a command without what it said."""
    words = ["", *_ending(command)]
    return f"- {_shown(command, 100)}{' '.join(words)} {references(command.sources[-1:])}"


def _ending(command: CommandRecord) -> list[str]:
    if command.running:
        return ["still running"]
    if command.ok is None:
        return []
    code = [f"exit {command.exit_code}"] if command.ok is False and command.exit_code else []
    return ["ok" if command.ok else "failed", *code]


def _shown(command: CommandRecord, limit: int) -> str:
    shown = data(command.command, limit).replace("`", "'")
    return f"`{shown}`"


def read_text(path: str, record: ReadRecord) -> str:
    """Return a file that was read, with the lines where not all were."""
    ranges: Iterable[str] = () if "all" in record.ranges else record.ranges[-2:]
    shown = ", ".join(data(span, 24) for span in ranges)
    return path_text(path) + (f" ({shown})" if shown else "")
