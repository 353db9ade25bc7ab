"""The ledger's methods on the working state, blocking and awaited."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol, cast, get_args
from uuid import uuid4

from langledger.arguments import (
    check_choice,
    check_key,
    check_optional,
    check_switch,
    check_text,
    check_whole,
)
from langledger.compaction.history import entry_at, newest, state_of
from langledger.compaction.requests import agents_of
from langledger.compaction.statekeeping import with_shared
from langledger.entries import Location, count
from langledger.errors import StateError
from langledger.operations import Executor, Operation, Row, arun, run
from langledger.redaction import Redactor
from langledger.state import store
from langledger.state.edits import Added, Changed, find_statement
from langledger.state.extract.keeper import Keeper
from langledger.state.records import KINDS, Statement, StatementKind, StatementStatus, WorkingState
from langledger.state.text import one_line

__all__ = ["AsyncStates", "States"]

_LONGEST = 400


class _Host(Protocol):
    @property
    def tenant(self) -> str: ...
    @property
    def executor(self) -> Executor: ...
    @property
    def redactor(self) -> Redactor: ...
    @property
    def keeper(self) -> Keeper: ...


class States:
    """What :class:`Ledger` knows of the working state."""

    def state(
        self: _Host,
        thread_id: str,
        *,
        at: int | str | None = None,
        task_id: str | None = None,
        scope: str = "",
        project: str | None = None,
    ) -> WorkingState:
        """Return a thread's working state, now or as it was after entry ``at``.

        Args:
            thread_id: The thread.
            at: The last entry that counts, by its number or its message id.
            task_id: The task; default: the one worked on then.
            scope: The agent within the thread; default: the root.
            project: Add the shared records of this project.

        Raises:
            StateError: The thread has no such task or scope.
            ConfigurationError: The thread has no such entry, or an argument is not usable.
        """
        return run(_state(self, thread_id, at, task_id, scope, project), self.executor)

    def edit_state(
        self: _Host,
        thread_id: str,
        record_id: str,
        *,
        what: str | None = None,
        why: str | None = None,
        status: StatementStatus | None = None,
        archived: bool | None = None,
        scope: str = "",
    ) -> Statement:
        """Change a decision, convention, question or definition; what is None stays.

        The change is kept through every compaction. ``archived=True`` hides a record from the
        agent, ``archived=False`` and ``status="active"`` restore one.

        Raises:
            StateError: There is no such record.
            ConfigurationError: An argument is not usable, or nothing is to be changed.
        """
        changed = _changed(record_id, what=what, why=why, status=status, archived=archived)
        return run(_edit(self, Location(self.tenant, thread_id, scope), changed), self.executor)

    def add_to_state(
        self: _Host,
        thread_id: str,
        kind: StatementKind,
        what: str,
        *,
        why: str = "",
        task_id: str | None = None,
        scope: str = "",
    ) -> Statement:
        """Add a decision, convention, question or definition to a thread's state.

        Raises:
            StateError: The thread does not exist, or has no such task or scope.
            ConfigurationError: An argument is not usable.
        """
        added = _added(kind, what, why=why, task_id=task_id)
        return run(_edit(self, Location(self.tenant, thread_id, scope), added), self.executor)

    def share(
        self: _Host,
        project: str,
        kind: StatementKind,
        what: str,
        *,
        why: str = "",
        record_id: str | None = None,
        status: StatementStatus = "active",
    ) -> str:
        """Put a record into the set that all agents of a project see, or change one; return its id.

        Agents read this set and cannot write it.
        """
        return run(_share(self.tenant, project, kind, what, why, record_id, status), self.executor)

    def team_state(
        self: _Host,
        project: str | None = None,
        *,
        kind: str | None = None,
        thread_id: str | None = None,
        limit: int = 200,
    ) -> list[Row]:
        """Return what the agents of a project last published of their states, newest first.

        The view ``working_state`` in the database has the same rows. An agent without
        ``project=`` publishes nothing; :meth:`state` tells its state.

        Args:
            project: As ``project=`` of their middleware names it; None: of every project.
            kind: Only ``file``, ``step``, ``decision``, ``convention``, ``question``,
                ``definition`` or ``last_action``.
            thread_id: Only of this thread.
            limit: Most rows.
        """
        return run(_team(self.tenant, project, kind, thread_id, limit), self.executor)

    def flush(self: _Host) -> None:
        """Wait until what was recorded is read by the state model, indexed and embedded."""
        self.keeper.flush()
        following: Any = getattr(super(States, cast("Any", self)), "flush", None)
        if following is not None:
            following()


class AsyncStates:
    """What :class:`AsyncLedger` knows of the working state."""

    async def state(
        self: _Host,
        thread_id: str,
        *,
        at: int | str | None = None,
        task_id: str | None = None,
        scope: str = "",
        project: str | None = None,
    ) -> WorkingState:
        """Await :meth:`Ledger.state`."""
        return await arun(_state(self, thread_id, at, task_id, scope, project), self.executor)

    async def edit_state(
        self: _Host,
        thread_id: str,
        record_id: str,
        *,
        what: str | None = None,
        why: str | None = None,
        status: StatementStatus | None = None,
        archived: bool | None = None,
        scope: str = "",
    ) -> Statement:
        """Await :meth:`Ledger.edit_state`."""
        changed = _changed(record_id, what=what, why=why, status=status, archived=archived)
        at = Location(self.tenant, thread_id, scope)
        return await arun(_edit(self, at, changed), self.executor)

    async def add_to_state(
        self: _Host,
        thread_id: str,
        kind: StatementKind,
        what: str,
        *,
        why: str = "",
        task_id: str | None = None,
        scope: str = "",
    ) -> Statement:
        """Await :meth:`Ledger.add_to_state`."""
        added = _added(kind, what, why=why, task_id=task_id)
        at = Location(self.tenant, thread_id, scope)
        return await arun(_edit(self, at, added), self.executor)

    async def share(
        self: _Host,
        project: str,
        kind: StatementKind,
        what: str,
        *,
        why: str = "",
        record_id: str | None = None,
        status: StatementStatus = "active",
    ) -> str:
        """Await :meth:`Ledger.share`."""
        shared = _share(self.tenant, project, kind, what, why, record_id, status)
        return await arun(shared, self.executor)

    async def team_state(
        self: _Host,
        project: str | None = None,
        *,
        kind: str | None = None,
        thread_id: str | None = None,
        limit: int = 200,
    ) -> list[Row]:
        """Await :meth:`Ledger.team_state`."""
        return await arun(_team(self.tenant, project, kind, thread_id, limit), self.executor)

    async def flush(self: _Host) -> None:
        """Await :meth:`Ledger.flush`."""
        await asyncio.to_thread(self.keeper.flush)
        following: Any = getattr(super(AsyncStates, cast("Any", self)), "flush", None)
        if following is not None:
            await following()


def _state(  # noqa: PLR0917 - the methods' own arguments
    host: _Host,
    thread_id: str,
    at: int | str | None,
    task_id: str | None,
    scope: str,
    project: str | None,
) -> Operation[WorkingState]:
    location = Location(host.tenant, thread_id, scope)
    check_optional("task_id", task_id)
    check_optional("project", project)
    yield from _check_scope(location)
    last = None if at is None else (yield from entry_at(location, at))
    state = yield from state_of(location, at=last, task_id=task_id, redactor=host.redactor)
    if project is None:
        return state
    return with_shared(state, (yield from store.shared(host.tenant, project)))


def _check_scope(location: Location) -> Operation[None]:
    """Raise StateError where no agent of this name recorded anything in the thread."""
    known = (yield from agents_of(location)) if location.scope else []
    if known and location.scope not in known:
        named = ", ".join(filter(None, known)) or "none, leave scope out"
        raise StateError(
            f"thread {location.thread_id!r} has no scope {location.scope!r}; its scopes: {named}"
        )


def _edit(host: _Host, location: Location, body: Added | Changed) -> Operation[Statement]:
    """Store a person's change and return the record as it is then."""
    if not (yield from count(location)):
        raise StateError(
            f"there is no thread {location.thread_id!r}; `langledger threads` lists them"
        )
    yield from _check_scope(location)
    task = body.task_id if isinstance(body, Added) else None
    known = yield from state_of(location, task_id=task, redactor=host.redactor)
    if isinstance(body, Changed):
        find_statement(known, body.id)
    at_seq = yield from newest(location)
    yield from store.add_event(location, body, at_seq=at_seq)
    return find_statement((yield from state_of(location, redactor=host.redactor)), body.id)


def _changed(record_id: str, **fields: Any) -> Changed:
    check_text("record_id", record_id)
    given = {name: value for name, value in fields.items() if value is not None}
    if not given:
        raise StateError("nothing is to be changed: give what, why, status or archived")
    if "status" in given:
        check_choice("status", given["status"], get_args(StatementStatus))
    if "archived" in given:
        check_switch("archived", given["archived"])
    for name in ("what", "why"):
        if name in given:
            given[name] = _line(name, given[name], empty=name == "why")
    return Changed.model_validate({"id": record_id, **given})


def _added(kind: StatementKind, what: str, *, why: str, task_id: str | None) -> Added:
    check_choice("kind", kind, KINDS)
    return Added(
        id=f"p{uuid4().hex[:8]}",
        kind=kind,
        what=_line("what", what),
        why=_line("why", why, empty=True),
        task_id=check_optional("task_id", task_id),
    )


def _share(  # noqa: PLR0917 - the methods' own arguments
    tenant: str,
    project: str,
    kind: StatementKind,
    what: str,
    why: str,
    record_id: str | None,
    status: StatementStatus,
) -> Operation[str]:
    check_choice("kind", kind, KINDS)
    check_choice("status", status, get_args(StatementStatus))
    chosen = f"s{uuid4().hex[:8]}" if record_id is None else check_key("record_id", record_id)
    yield from store.share(
        tenant,
        check_key("project", project),
        kind=kind,
        what=_line("what", what),
        why=_line("why", why, empty=True),
        record_id=chosen,
        status=status,
    )
    return chosen


def _team(
    tenant: str, project: str | None, kind: str | None, thread_id: str | None, limit: int
) -> Operation[list[Row]]:
    check_optional("project", project)
    check_optional("thread_id", thread_id)
    if kind is not None:
        check_choice("kind", kind, store.PUBLISHED)
    check_whole("limit", limit)
    return store.published(tenant, project, kind=kind, thread_id=thread_id, limit=limit)


def _line(name: str, value: object, *, empty: bool = False) -> str:
    """Return a text as the one line that is stored; a line of spaces says nothing."""
    line = one_line(check_text(name, value, empty=empty), _LONGEST)
    return check_text(name, line, empty=empty)
