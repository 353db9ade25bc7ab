"""Render the working state as text for the model, within a budget of tokens.

The order is fixed: files already changed, the bridge line, the last action, the steps, what
was said, commands, files read. What is dropped first when the budget is short is another
order: files read go first, the names of changed files last. The same state, budget and
counter give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from langledger.state.lines import (
    data,
    done_line,
    file_line,
    group_lines,
    last_action_line,
    moved_from,
    past_line,
    read_text,
    references,
    statement_line,
    step_line,
)
from langledger.state.paths import is_within
from langledger.state.records import (
    KINDS,
    FileRecord,
    Statement,
    TaskStep,
    WorkingState,
)
from langledger.state.runlines import command_lines

__all__ = ["BRIDGE", "render_state"]

BRIDGE = "These changes are already made; do not make them again."
"""The line that turns the list of files from background into a constraint."""

SCRATCH = "Outside the project, in temporary directories or inside .git"
"""The line above the files that are no changes to the project."""

FILES_SHARE = 0.65
"""Of the budget, what the files may take while other parts still need room."""

_SCRATCH = (
    "/tmp/",  # noqa: S108 - only a name
    "/var/tmp/",  # noqa: S108 - only a name
    "/private/tmp/",
    "/var/folders/",
    "/private/var/folders/",
)
_INSIDE_GIT = re.compile(r"(?:\A|/)\.git/")
_MAX_DONE = 30
_NEWEST_DONE = 8
_MAX_PAST = 4
_MAX_READ_LINES = 8
_MAX_STATEMENTS = 20
_MAX_FIRST = 8
_MAX_OTHER_TASKS = 5
_READS_IN_LINE = 6

Count: TypeAlias = Callable[[str], int]
Files: TypeAlias = Sequence[tuple[str, FileRecord]]


@dataclass(slots=True)
class _Section:
    """A heading with its lines, each with a priority; the lowest number is kept longest."""

    heading: str
    lines: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def cost(self, count: Count) -> int:
        """Return about how many tokens the whole section takes."""
        return count(self.heading) + 2 + sum(count(line) + 1 for _, line in self.lines)

    def add(self, priority: int, lines: Iterable[str]) -> None:
        self.lines.extend((priority, line) for line in lines)


def render_state(
    state: WorkingState, *, max_tokens: int, count: Count, lookup: str = "recall_history"
) -> str:
    """Return the state as text.

    Args:
        state: What to render.
        max_tokens: The text never counts more; too small a budget gives an empty text.
        count: Counts the tokens of a text.
        lookup: The tool that tells what did not fit.
    """
    if max_tokens <= 0:
        return ""
    sections = [section for section in _sections(state) if section.lines]
    files = [item for item in _ranked(state.files_touched) if not _is_put_back(item[1])]
    wanted = [section.cost(count) for section in sections]
    kept_free = min(sum(wanted), max_tokens - int(max_tokens * FILES_SHARE))
    if state.last_action is not None:  # its section is the first
        kept_free = max(kept_free, min(wanted[0], max_tokens // 2))
    room = max_tokens - kept_free
    while True:
        listed = _files_part(files, room, count, lookup)
        text = _filled(listed, sections, max_tokens, count)
        if text is not None:
            return text
        if room <= 0:
            return ""
        room = min(room - 1, room * 9 // 10)


def _filled(
    listed: list[str], sections: list[_Section], max_tokens: int, count: Count
) -> str | None:
    """Return the files with as many other lines as fit; None if the files alone do not."""
    ranked = [
        (priority, at, number)
        for at, section in enumerate(sections)
        for number, (priority, _) in enumerate(section.lines)
    ]
    kept: set[tuple[int, int]] = set()
    spent = count("\n".join(listed))
    order: list[tuple[int, int]] = []
    for _, at, number in sorted(ranked):
        cost = count(sections[at].lines[number][1]) + 1
        cost += 0 if any(a == at for a, _ in kept) else count(sections[at].heading) + 2
        if spent + cost <= max_tokens:
            spent += cost
            kept.add((at, number))
            order.append((at, number))
    # the sum of the parts is an estimate; the whole is what counts
    while True:
        text = _assembled(listed, sections, kept)
        if count(text) <= max_tokens:
            return text
        if not order:
            return None
        kept.discard(order.pop())


def _assembled(listed: list[str], sections: list[_Section], kept: set[tuple[int, int]]) -> str:
    parts = ["\n".join(listed)] if listed else []
    for at, section in enumerate(sections):
        lines = [line for n, (_, line) in enumerate(section.lines) if (at, n) in kept]
        if lines:
            parts.append("\n".join([section.heading, *lines]))
    return "\n\n".join(parts)


def _files_part(files: Files, room: int, count: Count, lookup: str) -> list[str]:
    """Return the files in the richest form that names all of them within the room."""
    if not files or room <= 0:
        return []

    def fits(lines: list[str]) -> bool:
        return count("\n".join(lines)) <= room

    standing = _standing(files)
    own, others = _parted(standing)
    plain = [file_line(path, record, details=False) for path, record in [*own, *others]]
    # A path that stands whole is found by whoever looks for it.
    for named, apart in (
        ([*own, *others], []),
        (own, group_lines(others, marked=True, cited=True)),
    ):
        lines = plain[: len(named)]
        free = room - count("\n".join(_framed(standing, lines + apart)))
        if free >= 0:
            return _framed(standing, _detailed(named, lines, free, count) + apart)
    for shown, marked in ((standing, True), (files, False)):
        project, scratch = _parted(shown)
        grouped = group_lines(project, marked=marked)
        lines = _framed(shown, grouped + group_lines(scratch, marked=marked), at=len(grouped))
        if fits(lines):
            return lines
    return _cut(files, fits, lookup)


def _framed(files: Files, lines: list[str], *, at: int | None = None) -> list[str]:
    """Return the lines of files with their headings; from ``at`` on those of scratch files."""
    project, scratch = _parted(files)
    at = len(project) if at is None else at
    heading = f"## Files already changed ({len(project)})"
    apart = [f"{SCRATCH} ({len(scratch)}):"] if scratch else []
    return [heading, *lines[:at], *apart, *lines[at:], BRIDGE]


def _parted(files: Files) -> tuple[Files, Files]:
    """Return the project's files and the scratch files; what is all there is counts as its own."""
    project = [item for item in files if not _is_scratch(item[0])]
    scratch = [item for item in files if _is_scratch(item[0])]
    return (project, scratch) if project else (scratch, [])


def _is_scratch(path: str) -> bool:
    return path.startswith(_SCRATCH) or _INSIDE_GIT.search(path) is not None


def _standing(files: Files) -> Files:
    """Leave out what was moved where the new path's line tells it, and directories made anew."""
    told = {(moved_from(record), path) for path, record in files}
    gone = [item for item in files if item[1].deleted]
    there = [path for path, record in files if not record.deleted]
    left_out = {
        path
        for path, record in gone
        if (path, record.actions[-1].other) in told or any(is_within(p, path) for p in there)
    }
    return [item for item in files if item[0] not in left_out]


def _detailed(files: Files, plain: list[str], room: int, count: Count) -> list[str]:
    """Add details to the first files as long as there is room."""
    lines = list(plain)
    for at, (path, record) in enumerate(files):
        detailed = file_line(path, record, details=True)
        cost = count(detailed) - count(plain[at]) + 1
        if cost > room:
            break
        room -= cost
        lines[at] = detailed
    return lines


def _cut(files: Files, fits: Callable[[list[str]], bool], lookup: str) -> list[str]:
    """Return as many files as fit, and how to find the others."""

    def first(number: int) -> list[str]:
        rest = len(files) - number
        more = f"- and {rest} more: call {lookup} to list them"
        heading = f"## Files already changed ({len(files)})"
        return [heading, *group_lines(files[:number], marked=False), more, BRIDGE]

    low, high = 0, len(files) - 1
    if not fits(first(0)):
        return []
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(first(middle)) else (low, middle - 1)
    return first(low)


def _ranked(files: Mapping[str, FileRecord]) -> Files:
    """Order files: the project's, those that stand changed first, then newest, most edited."""

    def rank(item: tuple[str, FileRecord]) -> tuple[bool, int, int, int, str]:
        path, record = item
        newest = record.actions[-1].source
        return (
            _is_scratch(path),
            int(record.created and record.deleted),
            -newest,
            -len(record.actions),
            path,
        )

    return sorted(files.items(), key=rank)


def _sections(state: WorkingState) -> list[_Section]:
    last = _Section("## Last action")
    if state.last_action is not None:
        last.add(0, [last_action_line(state.last_action)])
    steps = _Section("## Steps")
    steps.add(1, map(step_line, _open_steps(state.task_progress)))
    steps.add(3, map(step_line, _updated_steps(state.task_progress)))
    _add_done(steps, state.task_progress)
    put_back = _put_back(state)
    commands = _Section("## Commands")
    commands.lines.extend(command_lines(state.commands.values()))
    reads = _Section("## Files read")
    reads.add(8, _reads(state))
    others = _Section("## Other tasks of this conversation, not part of this one")
    others.add(7, _other_tasks(state))
    holding = {s.id for kind in KINDS for s in state.statements(kind) if s.status == "active"}
    return [
        last,
        put_back,
        steps,
        _statements("## Decisions", 2, state.decisions, holding),
        _statements("## Conventions", 2, state.conventions, holding),
        _statements("## Open questions", 3, state.open_questions, holding),
        _statements("## Definitions", 6, state.definitions, holding),
        commands,
        reads,
        others,
    ]


def _put_back(state: WorkingState) -> _Section:
    """Return the section of the files whose changes were taken back: they are not there now."""
    files = [item for item in _ranked(state.files_touched) if _is_put_back(item[1])]
    section = _Section(f"## Changed and put back since ({len(files)})")
    lines = (file_line(path, record, details=False) for path, record in files)
    sources = (references(record.sources) for _, record in files)
    section.add(4, map(" ".join, zip(lines, sources, strict=True)))
    return section


def _is_put_back(record: FileRecord) -> bool:
    return record.last_action == "restore"


def _open_steps(steps: Sequence[TaskStep]) -> list[TaskStep]:
    listed = [step for step in steps if not step.archived]
    doing = [step for step in listed if step.status == "in_progress"]
    return doing + [step for step in listed if step.status == "pending"]


def _updated_steps(steps: Sequence[TaskStep]) -> list[TaskStep]:
    """Return the steps that may be open or not: nobody recorded what became of them."""
    return [step for step in steps if step.status == "updated" and not step.archived]


def _add_done(section: _Section, steps: Sequence[TaskStep]) -> None:
    """Add the finished steps, the newest first; of many, how many there are."""
    done = [step for step in steps if step.status == "completed"]
    newest = sorted(done, key=lambda s: (s.completed, s.order, s.position), reverse=True)
    rest = len(_open_steps(steps)) + len(_updated_steps(steps))
    if len(done) > _NEWEST_DONE:
        section.add(1, [f"- done so far: {len(done)} of {len(done) + rest}"])
    section.add(3, map(done_line, newest[:_NEWEST_DONE]))
    section.add(5, map(done_line, newest[_NEWEST_DONE:_MAX_DONE]))


def _statements(
    heading: str, priority: int, statements: Sequence[Statement], all_holding: Collection[str]
) -> _Section:
    """Return the section of statements: those that hold, and a count of the others."""

    def line(statement: Statement) -> str:
        against = statement.against if statement.against in all_holding else None
        return statement_line(statement, against=against or "")

    section = _Section(heading)
    holding = [s for s in statements if s.status == "active" and not s.archived]
    newest = sorted(holding, key=lambda s: (s.position, s.id))[-_MAX_STATEMENTS:]
    older, newer = newest[:-_MAX_FIRST], newest[-_MAX_FIRST:]
    section.add(6, map(line, older))
    section.add(priority, map(line, newer))
    if len(holding) > len(newest):
        section.add(7, [f"- and {len(holding) - len(newest)} older ones"])
    section.add(7, map(past_line, _past(statements)))
    return section


def _past(statements: Sequence[Statement]) -> list[Statement]:
    """Return the newest of those that hold no longer; a question without answer is no loss."""
    past = [s for s in statements if s.status != "active" and not s.archived]
    past = [s for s in past if not s.id.startswith("q")]
    return sorted(past, key=lambda s: (s.position, s.id))[-_MAX_PAST:]


def _other_tasks(state: WorkingState) -> list[str]:
    """Return a line for each task that is parked, those worked on last first."""

    def newest(item: tuple[str, WorkingState]) -> tuple[int, str]:
        last = item[1].heard[-1] if item[1].heard else -1
        return -last, item[0]

    lines: list[str] = []
    for task, other in sorted(state.other_tasks.items(), key=newest)[:_MAX_OTHER_TASKS]:
        name = f"{data(task, 40)}: " if task else ""
        files, steps = len(other.files_touched), len(_open_steps(other.task_progress))
        counts = f"{_number(files, 'file')}, {_number(steps, 'step')} open"
        lines.append(
            f"- {name}{data(other.task_title, 80)} ({counts}) {references(other.heard[:1])}"
        )
    return lines


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _reads(state: WorkingState) -> list[str]:
    """Return the files that were read and not changed, newest first, several to a line."""
    reads = sorted(
        (i for i in state.files_read.items() if i[0] not in state.files_touched and i[0] != "."),
        key=lambda item: (-item[1].source, -item[1].index, item[0]),
    )
    texts = [read_text(path, record) for path, record in reads]
    limit = _MAX_READ_LINES * _READS_IN_LINE
    return [
        "- " + ", ".join(texts[at : at + _READS_IN_LINE])
        for at in range(0, min(len(texts), limit), _READS_IN_LINE)
    ]
