"""What a thread's working state is, read from its entries and the events stored beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from langledger.compaction.records import latest_before
from langledger.entries import Location, about, history_page
from langledger.errors import StateError
from langledger.operations import Operation
from langledger.redaction import Redactor
from langledger.state import store
from langledger.state.context import ProjectContext
from langledger.state.edits import apply_event
from langledger.state.fold import StateFold
from langledger.state.records import KINDS, Statement, WorkingState

__all__ = ["state_of", "state_reader"]

_PAGE = 500


def state_of(
    location: Location,
    *,
    at: int | None = None,
    task_id: str | None = None,
    redactor: Redactor,
) -> Operation[WorkingState]:
    """Return the working state of an agent of a thread, now or as it was after entry ``at``.

    It starts from the last compaction, which holds the state up to there, and adds what
    the entries since then tell, and what models and people said of them.

    Args:
        location: The thread and scope.
        at: The last entry that counts.
        task_id: The task; None: the one worked on then.
        redactor: Takes secrets out.

    Raises:
        StateError: The thread has no such task.
    """
    facts = yield from about(location)
    cut = yield from latest_before(location, at=at)
    after = cut.seen if cut else 0
    base = WorkingState.model_validate(cut.state) if cut else None
    fold = StateFold(base, cwd=facts.get("cwd"))
    tasks = yield from store.task_ids(location)
    while True:
        page = yield from history_page(location, after=after, until=at, limit=_PAGE)
        for entry in page:
            if (entry.scope or "") == location.scope:
                message = redactor.message(entry.message)
                fold.add(message, entry.entry_id, task_id=tasks.get(entry.entry_id))
        if len(page) < _PAGE:
            break
        after = page[-1].entry_id
    merged = fold.state.merged
    for event in (yield from store.events(location, merged=merged, until=at)):
        apply_event(fold, event.number, event.body)
    state = yield from _dated(location, _of_task(fold.state, task_id, location))
    context = facts.get("project_context")
    if isinstance(context, str):
        known = ProjectContext(Path(context)).read().definitions
        state = state.model_copy(update={"definitions": [*state.definitions, *known]})
    return state


def _of_task(state: WorkingState, task_id: str | None, location: Location) -> WorkingState:
    if task_id is None or task_id == state.task_id:
        return state
    found = state.other_tasks.get(task_id)
    if found is None:
        known = ", ".join(sorted({state.task_id or "", *state.other_tasks} - {""})) or "none"
        raise StateError(
            f"thread {location.thread_id!r} has no task {task_id!r}; its tasks: {known}"
        )
    shared = {"conventions": state.conventions, "definitions": state.definitions}
    return found.model_copy(update=shared)


def _dated(location: Location, state: WorkingState) -> Operation[WorkingState]:
    """Return a state whose statements tell when and by which agent they were said."""
    every = [s for kind in KINDS for s in state.statements(kind)]
    ends = {seq for s in every for seq in (s.sources[:1] + s.sources[-1:])}
    if not ends:
        return state
    known = yield from store.times(location, ends)

    def dated(statement: Statement) -> Statement:
        return statement.model_copy(
            update={
                "created_at": known.get(statement.sources[0]) if statement.sources else None,
                "updated_at": known.get(statement.sources[-1]) if statement.sources else None,
                "agent": location.scope or None,
            }
        )

    dates = {KINDS[kind]: [dated(s) for s in state.statements(kind)] for kind in KINDS}
    return state.model_copy(update=dates)


def state_reader(redactor: Redactor) -> Callable[[Location], Operation[WorkingState]]:
    """Return what reads the state of a thread as it is."""
    return lambda location: state_of(location, redactor=redactor)
