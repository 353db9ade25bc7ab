"""What the pages read beside the ledger's own methods; operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from langledger.compaction.records import CompactionReport, cut_of
from langledger.compaction.view import Cut
from langledger.database.queries import load_queries
from langledger.entries import Entry, Location, entry_of
from langledger.operations import Operation, Row, fetch
from langledger.recall.build import text_of

__all__ = [
    "Page",
    "Unit",
    "calls_around",
    "compactions",
    "cuts",
    "entries_around",
    "entries_page",
    "pulse",
    "scopes",
    "size",
    "tables",
    "tags",
    "thread",
    "threads",
    "unit_counts",
    "units",
    "units_of",
]

_queries = load_queries("langledger.ui")


@dataclass(frozen=True, slots=True)
class Page:
    """A stretch of a thread's entries.

    Attributes:
        entries: In order.
        earlier: There are entries before them.
        later: There are entries after them.
    """

    entries: list[Entry]
    earlier: bool
    later: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit of recall's index.

    Attributes:
        entry_id: The entry it is a part of.
        part: Its place in the entry, from 0.
        times: How often a search gave it to somebody.
        last_at: When last.
    """

    entry_id: int
    part: int
    role: str
    created_at: datetime
    tags: list[str]
    importance: float
    text: str
    times: int
    last_at: datetime | None


def threads(
    tenant: str,
    *,
    search: str = "",
    before: tuple[datetime, UUID] | None = None,
    limit: int,
) -> Operation[list[Row]]:
    """Return a tenant's threads whose names contain a text, latest first, after a place."""
    return (
        yield from fetch(
            _queries["threads"],
            tenant=tenant,
            search=f"%{_literal(search)}%" if search else None,
            before_at=before[0] if before else None,
            before_key=before[1] if before else None,
            limit=limit,
        )
    )


def _literal(text: str) -> str:
    """Return a text as LIKE takes it for itself."""
    for sign in ("\\", "%", "_"):
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\x00", "")


def thread(tenant: str, thread_key: UUID) -> Operation[Row | None]:
    """Return a thread's row by its key, or None."""
    rows = yield from fetch(_queries["thread"], tenant=tenant, thread_key=thread_key)
    return rows[0] if rows else None


def scopes(location: Location) -> Operation[list[str]]:
    """Return the agents that recorded in a thread; the root's name is empty."""
    rows = yield from fetch(_queries["scopes"], **location.keys)
    return [row["scope"] for row in rows]


def size(tenant: str, thread_key: UUID) -> Operation[Row]:
    """Return a thread's ``entries``, ``uncounted``, ``tokens``, ``bytes`` and ``calls``."""
    rows = yield from fetch(_queries["size"], tenant=tenant, thread_key=thread_key)
    return rows[0]


def pulse(tenant: str, thread_key: UUID | None = None) -> Operation[str]:
    """Return a text that is another one whenever the thread, or any, has changed."""
    if thread_key is None:
        rows = yield from fetch(_queries["pulse_of_all"], tenant=tenant)
    else:
        rows = yield from fetch(_queries["pulse"], tenant=tenant, thread_key=thread_key)
    return rows[0]["pulse"] if rows else ""


def entries_page(
    location: Location,
    *,
    after: int | None = None,
    before: int | None = None,
    role: str | None = None,
    limit: int,
) -> Operation[Page]:
    """Return the entries after a number, or before one; without either, the first."""
    backwards = before is not None
    rows = yield from fetch(
        _queries["entries_before" if backwards else "entries_after"],
        **location.keys,
        place=before if backwards else after or 0,
        role=role,
        limit=limit + 1,
    )
    more, rows = len(rows) > limit, rows[:limit]
    found = [entry_of(location.thread_id, row) for row in rows]
    if backwards:
        return Page(found[::-1], earlier=more, later=True)
    return Page(found, earlier=bool(after), later=more)


def calls_around(location: Location, seq: int) -> Operation[Row]:
    """Return the answers ``before`` and ``after`` an entry, and the ``last`` of the thread."""
    rows = yield from fetch(
        _queries["calls_around"], **location.keys, scope=location.scope, seq=seq
    )
    return rows[0]


def entries_around(location: Location, seq: int) -> Operation[Row]:
    """Return the entries ``before`` and ``after`` an entry, of any agent."""
    rows = yield from fetch(_queries["entries_around"], **location.keys, seq=seq)
    return rows[0]


def compactions(location: Location) -> Operation[list[Row]]:
    """Return the compactions of an agent: ``report``, ``seen``, ``created_at``; oldest first."""
    rows = yield from fetch(_queries["compactions"], **location.keys, scope=location.scope)
    return [{**row, "report": _report(location, row)} for row in rows]


def cuts(location: Location, generations: Sequence[int]) -> Operation[dict[int, tuple[Cut, Row]]]:
    """Return what compactions decided, by generation, each with its row."""
    rows = yield from fetch(
        _queries["cuts"],
        **location.keys,
        scope=location.scope,
        generations=[number for number in generations if 0 < number < 2**31],
    )
    return {
        row["generation"]: (cut_of(row), {**row, "report": _report(location, row)}) for row in rows
    }


def _report(location: Location, row: Row) -> CompactionReport:
    return CompactionReport(thread_id=location.thread_id, **row["report"])


def tags(location: Location) -> Operation[list[Row]]:
    """Return the value tags of a thread's units with their counts."""
    return (yield from fetch(_queries["tags"], **location.keys))


def unit_counts(location: Location) -> Operation[Row]:
    """Return how many ``units`` a thread has, and how many are ``recalled``, ``embedded``, ..."""
    rows = yield from fetch(_queries["unit_counts"], **location.keys)
    return rows[0]


def units(
    location: Location,
    *,
    after: tuple[int, int] = (0, -1),
    tag: str | None = None,
    never: bool = False,
    limit: int,
) -> Operation[list[Unit]]:
    """Return units of a thread after a place, in order.

    Args:
        location: The thread.
        after: Entry and part.
        tag: Only those with this tag.
        never: Only those that no search gave to anybody.
        limit: Most units.
    """
    rows = yield from fetch(
        _queries["units"],
        **location.keys,
        ref=after[0],
        part=after[1],
        tag=tag,
        never=never,
        limit=limit,
    )
    return [_unit(row) for row in rows]


def units_of(location: Location, entry_id: int) -> Operation[list[Unit]]:
    """Return the units of one entry."""
    rows = yield from fetch(_queries["units_of"], **location.keys, ref=entry_id)
    return [_unit(row) for row in rows]


def _unit(row: Row) -> Unit:
    return Unit(
        entry_id=row["ref"],
        part=row["part"],
        role=row["role"] or "",
        created_at=row["created_at"],
        tags=row["tags"],
        importance=row["importance"],
        text=text_of(row["body"]),
        times=row["times"] or 0,
        last_at=row["last_at"],
    )


def tables() -> Operation[list[Row]]:
    """Return the tables of the schema by size."""
    return (yield from fetch(_queries["tables"]))
