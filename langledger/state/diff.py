"""What changed between two states of a thread, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from langledger.state.lines import data, references
from langledger.state.records import KINDS, Statement, TaskStep, WorkingState

__all__ = ["state_diff"]


def state_diff(old: WorkingState, new: WorkingState) -> list[str]:
    """Return a line for each record that is new, changed or gone.

    Args:
        old: The state before.
        new: The state after.

    Returns:
        Lines that begin with ``+``, ``~`` or ``-``.
    """
    return [*_files(old, new), *_steps(old, new), *_statements(old, new), *_commands(old, new)]


def _files(old: WorkingState, new: WorkingState) -> Iterator[str]:
    for path, record in new.files_touched.items():
        before = old.files_touched.get(path)
        if before is None or len(record.actions) > len(before.actions):
            since = record.actions[len(before.actions) if before else 0 :]
            done = ", ".join(dict.fromkeys(change.action for change in since))
            sources = [change.source for change in since]
            mark = "+" if before is None else "~"
            yield f"{mark} file {data(path)}: {done} {references(sources)}"
    yield from (f"- file {data(p)}" for p in old.files_touched if p not in new.files_touched)


def _steps(old: WorkingState, new: WorkingState) -> Iterator[str]:
    before = {_key(step): step for step in old.task_progress}
    for step in new.task_progress:
        known = before.get(_key(step))
        if known is None:
            yield f"+ step {data(step.step)}: {step.status} {references(step.sources[-1:])}"
        elif known.status != step.status:
            ended = f"{known.status} -> {step.status}"
            yield f"~ step {data(step.step)}: {ended} {references(step.sources[-1:])}"


def _statements(old: WorkingState, new: WorkingState) -> Iterator[str]:
    for kind in KINDS:
        before = {statement.id: statement for statement in old.statements(kind)}
        for statement in new.statements(kind):
            known = before.pop(statement.id, None)
            if known is None:
                yield f"+ {kind} {_told(statement)}{_no_longer(statement)}"
            elif changed := _changes(known, statement):
                yield f"~ {kind} {_told(statement)} ({changed})"
        yield from (f"- {kind} {_told(statement)}" for statement in before.values())


def _no_longer(statement: Statement) -> str:
    """Return why a record that is new to the reader is not one to follow; empty where it is."""
    status = "" if statement.status == "active" else statement.status
    if statement.superseded_by:
        status += f" by {statement.superseded_by}"
    against = f"against {statement.against}, the user's" if statement.against else ""
    words = ", ".join(filter(None, (status, against, "archived" if statement.archived else "")))
    return f" ({words})" if words else ""


def _changes(old: Statement, new: Statement) -> str:
    names = ("what", "why", "status", "against", "archived")
    changed = [
        f"{name}: {data(str(getattr(old, name)), 60)} -> {data(str(getattr(new, name)), 60)}"
        for name in names
        if getattr(old, name) != getattr(new, name)
    ]
    return "; ".join(changed)


def _commands(old: WorkingState, new: WorkingState) -> Iterator[str]:
    for name, command in new.commands.items():
        if command.kind == "inspect":  # nothing changed
            continue
        before = old.commands.get(name)
        if before is None or before.runs != command.runs:
            ended = {None: "", True: ": ok", False: ": failed"}[command.ok]
            mark = "+" if before is None else "~"
            yield f"{mark} command {data(name)}{ended} {references(command.sources[-1:])}"


def _told(statement: Statement) -> str:
    return f"{statement.id}: {data(statement.what, 200)} {references(statement.sources)}".rstrip()


def _key(step: TaskStep) -> str:
    return step.key or step.step
