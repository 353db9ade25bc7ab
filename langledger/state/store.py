"""What of the working state is stored: events, published records, the shared set of a project."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb
from pydantic import ValidationError

from langledger.database.queries import load_queries
from langledger.encryption import Content, Spelled, contents
from langledger.encryption.marks import Many
from langledger.encryption.places import (
    PROJECT_WHAT,
    PROJECT_WHY,
    STATE_EVENT,
    STATE_WHAT,
    STATE_WHY,
)
from langledger.entries import Location
from langledger.operations import Operation, Query, Row, fetch, fetch_all
from langledger.state.edits import Added, Changed, Found, read_body
from langledger.state.records import KINDS, Statement, StatementKind, WorkingState
from langledger.state.text import printable

__all__ = [
    "PUBLISHED",
    "Event",
    "add_event",
    "advance",
    "claim",
    "events",
    "publish",
    "published",
    "put_off",
    "share",
    "shared",
    "task_ids",
    "times",
]

logger = logging.getLogger("langledger.state")

PUBLISHED = ("file", "step", *KINDS, "last_action")
"""Kinds of the records that agents publish."""

_CLAIM_SECONDS = 600
_ATTEMPTS = 5  # while a model cannot be reached; then what it was to read is passed over

_queries = load_queries("langledger.state")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a state.

    Attributes:
        number: In its thread and scope, from 1.
        at_seq: The newest entry it knows of.
        sources: The entries it rests on.
        body: What it says.
        created_at: When it was stored.
    """

    number: int
    at_seq: int
    sources: tuple[int, ...]
    body: Found | Added | Changed
    created_at: datetime


def add_event(
    location: Location,
    body: Found | Added | Changed,
    *,
    at_seq: int,
    sources: Iterable[int] = (),
    event_id: UUID | None = None,
) -> Operation[int | None]:
    """Store an event and return its number; None where it was there already."""
    query = _add(location, body, at_seq, sources, event_id or uuid4())
    rows = yield from fetch(query.sql, **query.params)
    return rows[0]["number"] if rows else None


def events(
    location: Location, *, merged: Sequence[int] = (), until: int | None = None
) -> Operation[list[Event]]:
    """Return the events of a thread's agent that are not merged, in order.

    Args:
        location: The thread and scope.
        merged: Numbers of those that are.
        until: The newest entry they may know of.
    """
    rows = yield from fetch(
        _queries["events"],
        **location.keys,
        scope=location.scope,
        merged=list(merged),
        until=until,
    )
    return [
        Event(
            number=row["number"],
            at_seq=row["at_seq"],
            sources=tuple(row["sources"]),
            body=read_body(row["body"]),
            created_at=row["created_at"],
        )
        for row in rows
    ]


def claim(
    location: Location, token: UUID, *, seconds: int = _CLAIM_SECONDS
) -> Operation[tuple[int, int] | None]:
    """Take the right to read a thread's entries with a model, for some seconds.

    Returns:
        The entry read last, and how often what follows it was tried; None where somebody else
        is reading.
    """
    at = {**location.keys, "scope": location.scope}
    claim = {**at, "claim": token, "seconds": seconds}
    _, rows = yield from fetch_all(Query(_queries["ready"], at), Query(_queries["claim"], claim))
    return (rows[0]["extracted"], rows[0]["attempts"]) if rows else None


def advance(
    location: Location,
    token: UUID,
    *,
    extracted: int,
    attempts: int = 0,
    found: Found | None = None,
) -> Operation[bool]:
    """Note how far was read, with what was found, and give the right back.

    Returns:
        Whether it counts: not where the claim ran out and somebody else took it.
    """
    queries = [
        Query(
            _queries["advance"],
            {
                **location.keys,
                "scope": location.scope,
                "claim": token,
                "extracted": extracted,
                "attempts": attempts,
            },
        )
    ]
    if found is not None and found.said:
        sources = {s for said in found.said for s in _sources(said)}
        queries.append(_add(location, found, extracted, sources, token))
    results = yield from fetch_all(*queries, repeatable=False)
    return bool(results[0])


def put_off(
    location: Location, token: UUID, *, after: int, last: int, attempts: int
) -> Operation[bool]:
    """Note that entries could not be read now, and give the right back; see :func:`advance`.

    Args:
        location: The thread and scope.
        token: Of the claim.
        after: The entry read last.
        last: The newest of those that were to be read; after five tries they are passed over.
        attempts: How often they were tried before.
    """
    if attempts + 1 >= _ATTEMPTS:
        return (yield from advance(location, token, extracted=last))
    return (yield from advance(location, token, extracted=after, attempts=attempts + 1))


def task_ids(location: Location) -> Operation[dict[int, str]]:
    """Return the entries of a thread that were given a task, with it."""
    rows = yield from fetch(_queries["task_ids"], **location.keys)
    return {row["seq"]: row["task_id"] for row in rows}


def times(location: Location, seqs: Iterable[int]) -> Operation[Mapping[int, datetime]]:
    """Return when entries were recorded."""
    rows = yield from fetch(_queries["times"], **location.keys, seqs=sorted(set(seqs)))
    return {row["seq"]: row["created_at"] for row in rows}


def publish(location: Location, state: WorkingState, *, project: str) -> Operation[None]:
    """Let the other agents of a project see a state, all of its tasks."""
    rows = [row for one in (state, *state.other_tasks.values()) for row in _rows(one)]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(7)]
    task_ids, kinds, record_ids, statuses, whats, whys, sources = columns
    ids = Many(map(Spelled, record_ids))
    keys = {"task_id": task_ids, "kind": kinds, "record_id": ids}
    theirs = {"task_ids": task_ids, "kinds": kinds, "record_ids": ids}
    places = {**location.keys, "scope": location.scope, **theirs}
    told = {
        "statuses": statuses,
        "whats": contents(STATE_WHAT, whats, **keys),
        "whys": contents(STATE_WHY, whys, **keys),
        "sources": sources,
    }
    yield from fetch_all(
        Query(_queries["withdraw"], places),
        Query(_queries["publish"], {**places, **told, "project": project}),
    )


def published(
    tenant: str,
    project: str | None,
    *,
    kind: str | None = None,
    thread_id: str | None = None,
    limit: int = 200,
) -> Operation[list[Row]]:
    """Return what agents of a project, or of every one, published, the newest first."""
    rows = yield from fetch(
        _queries["published"],
        tenant=tenant,
        project=project,
        kind=kind,
        thread_id=thread_id,
        limit=limit,
    )
    return [{name: row[name] for name in row if name != "thread_key"} for row in rows]


def share(
    tenant: str,
    project: str,
    *,
    kind: StatementKind,
    what: str,
    why: str = "",
    record_id: str,
    status: str = "active",
) -> Operation[None]:
    """Put a record into the shared set of a project, or change it."""
    yield from fetch(
        _queries["share"],
        tenant=tenant,
        project=project,
        record_id=record_id,
        kind=kind,
        what=Content(PROJECT_WHAT, what),
        why=Content(PROJECT_WHY, why),
        status=status,
    )


def shared(tenant: str, project: str) -> Operation[list[tuple[StatementKind, Statement]]]:
    """Return the shared set of a project, each record with its kind.

    A row that cannot be read is left out, and the log names it: it must not stop the agents.
    """
    rows = yield from fetch(_queries["shared"], tenant=tenant, project=project)
    return [record for row in rows if (record := _shared_record(row, project)) is not None]


def _shared_record(row: Row, project: str) -> tuple[StatementKind, Statement] | None:
    try:
        statement = Statement(
            id=row["record_id"],
            what=row["what"],
            why=row["why"],
            status=row["status"],
            origin="person",
            created_at=row["created_at"],
            updated_at=row["updated_at"],
        )
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"]))
    else:
        if row["kind"] in KINDS:
            return row["kind"], statement
        field = "kind"
    logger.warning(
        "the shared record %r of project %r is left out: its %s is not known; share() mends it",
        row["record_id"],
        project,
        field,
    )
    return None


def _add(
    location: Location,
    body: Found | Added | Changed,
    at_seq: int,
    sources: Iterable[int],
    event_id: UUID,
) -> Query:
    params: dict[str, Any] = {
        **location.keys,
        "scope": location.scope,
        "event_id": event_id,
        "at_seq": at_seq,
        "sources": sorted(set(sources)),
        "body": Content(STATE_EVENT, Jsonb(body.model_dump(mode="json"))),
    }
    return Query(_queries["add_event"], params)


def _sources(said: Any) -> tuple[int, ...]:
    return (said.source,) if hasattr(said, "source") else said.sources


def _rows(state: WorkingState) -> Iterable[tuple[str, ...]]:
    """Yield a state's records: task, kind, id, status, what, why, sources."""
    task = printable(state.task_id or "")

    def row(kind: str, texts: Sequence[str], seqs: Sequence[int]) -> tuple[str, ...]:
        listed = "{" + ",".join(map(str, seqs)) + "}"
        return (task, kind, *map(printable, texts), listed)

    for path, record in state.files_touched.items():
        yield row("file", (path, record.last_action, path, record.summary), record.sources)
    for step in state.task_progress:
        if not step.archived:
            yield row("step", (step.key or step.step, step.status, step.step, ""), step.sources)
    for kind in KINDS:
        for s in state.statements(kind):
            if not s.archived:
                yield row(kind, (s.id, s.status, s.what, s.why), s.sources)
    if (last := state.last_action) is not None:
        yield row("last_action", ("last", last.status, last.tool, last.args), (last.source,))
