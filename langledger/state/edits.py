"""Changes a person makes to a state, and applying the events a state is made of. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from langledger.errors import StateError
from langledger.state.base import Record, StatementKind, StatementStatus
from langledger.state.fold import StateFold
from langledger.state.records import KINDS, Statement, WorkingState
from langledger.state.statements.book import SHARED
from langledger.state.statements.proposal import Closing, Noted

__all__ = ["Added", "Body", "Changed", "Found", "apply_event", "find_statement", "read_body"]


class Found(Record):
    """What a model found in the history."""

    type: Literal["found"] = "found"
    said: tuple[Annotated[Noted | Closing, Field(union_mode="left_to_right")], ...]


class Added(Record):
    """A record that a person added.

    Attributes:
        id: Of the new record.
        kind: What it is.
        what: On one line.
        why: The reason.
        task_id: The task it belongs to; None: every task.
    """

    type: Literal["added"] = "added"
    id: str
    kind: StatementKind
    what: str
    why: str = ""
    task_id: str | None = None


class Changed(Record):
    """What a person changed of a record; None leaves a field as it is."""

    type: Literal["changed"] = "changed"
    id: str
    what: str | None = None
    why: str | None = None
    status: StatementStatus | None = None
    archived: bool | None = None


Body: TypeAlias = Annotated[Found | Added | Changed, Field(discriminator="type")]
_adapter: TypeAdapter[Found | Added | Changed] = TypeAdapter(Body)


def read_body(stored: object) -> Found | Added | Changed:
    """Return what an event's stored body says."""
    return _adapter.validate_python(stored)


def apply_event(
    fold: StateFold, number: int, body: Found | Added | Changed, *, at: datetime
) -> None:
    """Merge one event, which was stored at this time, into the state that is being folded."""
    match body:
        case Found(said=said):
            fold.take(said, number=number)
        case Added():
            fold.change(lambda state: _add(state, body, at), number=number)
        case Changed():
            fold.change(lambda state: _change(state, body, at), number=number)


def find_statement(state: WorkingState, record_id: str) -> Statement:
    """Return the statement with this id, of any task.

    Raises:
        StateError: There is none.
    """
    for one in _states(state):
        for kind in KINDS:
            for statement in one.statements(kind):
                if statement.id == record_id:
                    return statement
    raise StateError(
        f"the state has no record {record_id!r}: `langledger state THREAD --json` lists their ids"
    )


def _add(state: WorkingState, added: Added, at: datetime) -> None:
    held = _task_of(state, added).statements(added.kind)
    if all(statement.id != added.id for statement in held):
        held.append(
            Statement(
                id=added.id,
                what=added.what,
                why=added.why,
                origin="person",
                task_id=added.task_id,
                created_at=at,
                updated_at=at,
            )
        )


def _task_of(state: WorkingState, added: Added) -> WorkingState:
    """Return the state of the task that a record was added to; orders hold for all of them."""
    parked = state.other_tasks.get(added.task_id or "")
    if added.task_id in (None, state.task_id) or added.kind in SHARED or parked is None:
        return state
    # a copy of the state shares the states of its other tasks
    own = parked.snapshot()
    state.other_tasks = {**state.other_tasks, added.task_id or "": own}
    return own


def _change(state: WorkingState, changed: Changed, at: datetime) -> None:
    fields = changed.model_dump(exclude={"type", "id"}, exclude_none=True)
    fields["updated_at"] = at
    if changed.what is not None or changed.why is not None:
        fields |= {"origin": "person", "confidence": 1.0}
    if changed.status == "active":
        fields["superseded_by"] = None
    # a copy of the state shares the states of its other tasks
    state.other_tasks = {task: other.snapshot() for task, other in state.other_tasks.items()}
    for one in _states(state):
        for kind in KINDS:
            held = one.statements(kind)
            held[:] = [s.model_copy(update=fields) if s.id == changed.id else s for s in held]


def _states(state: WorkingState) -> Sequence[WorkingState]:
    return [state, *state.other_tasks.values()]
