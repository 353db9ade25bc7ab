"""What a thread's working state is, read from its entries and the events stored beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from langledger.compaction.records import latest_before
from langledger.database.queries import load_queries
from langledger.entries import Location, about, history_page
from langledger.entries.raw import entry_number
from langledger.errors import ConfigurationError, StateError
from langledger.operations import Operation, fetch
from langledger.redaction import Redactor
from langledger.state import folded, store
from langledger.state.context import ProjectContext
from langledger.state.edits import apply_event
from langledger.state.fold import StateFold
from langledger.state.records import KINDS, Statement, WorkingState

__all__ = ["entry_at", "newest", "state_of", "state_reader", "unread"]

_queries = load_queries("langledger.state")
_PAGE = 500


@dataclass(frozen=True, slots=True)
class _Start:
    """Where the reading of a history begins.

    Attributes:
        seen: The newest entry that is in the state.
        fold: The state there.
        maker: What folds it; None where there is too little to read to keep a state of it.
        generation: Of the thread.
    """

    seen: int
    fold: StateFold
    maker: folded.Maker | None
    generation: int


def state_of(
    location: Location,
    *,
    at: int | None = None,
    task_id: str | None = None,
    redactor: Redactor,
) -> Operation[WorkingState]:
    """Return the working state of an agent of a thread, now or as it was after entry ``at``.

    It starts from the last compaction, which holds the state up to there, or from what a
    reading before kept, and adds what the entries since then tell, and what models and people
    said of them.

    Args:
        location: The thread and scope.
        at: The last entry that counts.
        task_id: The task; None: the one worked on then.
        redactor: Takes secrets out.

    Raises:
        StateError: The thread has no such task.
    """
    facts = yield from about(location)
    fold = yield from _read(
        location, (yield from _start(location, facts, at, redactor)), at, redactor
    )
    merged = fold.state.merged
    for event in (yield from store.events(location, merged=merged, until=at)):
        apply_event(fold, event.number, event.body, at=event.created_at)
    state = yield from _dated(location, _of_task(fold.state, task_id, location))
    context = facts.get("project_context")
    if isinstance(context, str):
        known = ProjectContext(Path(context)).read().definitions
        state = state.model_copy(update={"definitions": [*state.definitions, *known]})
    return state


def unread(location: Location, *, at: int | None = None, redactor: Redactor) -> Operation[int]:
    """Return how many entries :func:`state_of` would read at most."""
    facts = yield from about(location)
    start = yield from _start(location, facts, at, redactor)
    end = yield from newest(location)
    return max(min(end, end if at is None else at) - start.seen, 0)


def newest(location: Location) -> Operation[int]:
    """Return the number of a thread's newest entry; 0: it has none."""
    rows = yield from fetch(_queries["extent"], **location.keys)
    return rows[0]["newest"] if rows else 0


def entry_at(location: Location, at: int | str, *, name: str = "at") -> Operation[int]:
    """Return the number of the entry that is meant; one past the thread's end is a mistake.

    Args:
        location: The thread.
        at: A number, a reference such as ``#17``, or a message's id.
        name: What errors call it.

    Raises:
        ConfigurationError: The thread has no such entry.
    """
    number = yield from entry_number(location, at, name=name)
    end = yield from newest(location)
    if number > end:
        thread = repr(location.thread_id)
        told = f"the newest entry of {thread} is {end}, not {number}"
        raise ConfigurationError(f"{name}: {told if end else f'thread {thread} has no entries'}")
    return number


def _start(
    location: Location, facts: Mapping[str, Any], at: int | None, redactor: Redactor
) -> Operation[_Start]:
    rows = yield from fetch(_queries["extent"], **location.keys)
    end, generation = (rows[0]["newest"], rows[0]["generation"]) if rows else (0, 0)
    cut = yield from latest_before(location, at=at)
    seen = cut.seen if cut else 0
    base = WorkingState.model_validate(cut.state) if cut else None
    cwd = facts.get("cwd")
    if (end if at is None else min(at, end)) - seen <= folded.EVERY:
        return _Start(seen, StateFold(base, cwd=cwd), None, generation)
    maker = folded.maker_of(redactor, cut.state if cut else None, cwd)
    found = yield from folded.kept(location, maker, after=seen, until=at)
    if found is not None:
        seen, base = found
    return _Start(seen, StateFold(base, cwd=cwd), maker, generation)


def _read(
    location: Location, start: _Start, at: int | None, redactor: Redactor
) -> Operation[StateFold]:
    """Fold the entries that follow the start; keep the state now and then."""
    fold, after, last_kept = start.fold, start.seen, start.seen
    tasks = yield from store.task_ids(location)
    while True:
        page = yield from history_page(location, after=after, until=at, limit=_PAGE)
        for entry in page:
            if (entry.scope or "") == location.scope:
                message = redactor.message(entry.message)
                fold.add(message, entry.entry_id, task_id=tasks.get(entry.entry_id))
        if len(page) < _PAGE:
            return fold
        after = page[-1].entry_id
        if start.maker is not None and after - last_kept >= folded.EVERY:
            last_kept = after
            yield from folded.keep(
                location, start.maker, fold.state, seen=after, generation=start.generation
            )


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
    if not every:
        return state
    known: Mapping[int, datetime] = {}
    if ends:
        known = yield from store.times(location, ends)

    def dated(statement: Statement) -> Statement:
        said = [known[seq] for seq in statement.sources if seq in known]
        times = [*said, *filter(None, (statement.created_at, statement.updated_at))]
        return statement.model_copy(
            update={
                "created_at": min(times, default=None),
                "updated_at": max(times, default=None),
                "agent": location.scope or None,
            }
        )

    dates = {KINDS[kind]: [dated(s) for s in state.statements(kind)] for kind in KINDS}
    return state.model_copy(update=dates)


def state_reader(redactor: Redactor) -> Callable[[Location], Operation[WorkingState]]:
    """Return what reads the state of a thread as it is."""
    return lambda location: state_of(location, redactor=redactor)
