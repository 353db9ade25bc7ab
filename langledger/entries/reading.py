"""Operations that read a thread from one end to the other, and list threads.

What they read may be large, and is mostly asked for by people: a read replica may answer.
"""

from __future__ import annotations

from langledger.arguments import check_tenant, check_whole
from langledger.database.queries import load_queries
from langledger.database.replica import Replica, read
from langledger.entries.log import Entry, Location, entry_of
from langledger.operations import Operation, Query, Row, fetch

__all__ = ["PAGE", "count", "history", "history_page", "threads"]

_queries = load_queries("langledger.entries")

PAGE = 500


def history_page(
    location: Location,
    *,
    after: int = 0,
    until: int | None = None,
    limit: int = PAGE,
    replica: Replica | None = None,
) -> Operation[list[Entry]]:
    """Return up to ``limit`` entries that follow entry ``after``, oldest first.

    Args:
        location: The thread.
        after: An entry's id; 0 for the beginning.
        until: The last entry wanted; None for all.
        limit: Most entries returned.
        replica: Asked where it has all that the thread has; None: the primary is.

    Raises:
        ConfigurationError: A number is none, or out of range.
    """
    check_whole("after", after)
    check_whole("limit", limit)
    if until is not None:
        check_whole("until", until)
    bounds = {"after": after, "until": until, "limit": limit}
    page = Query(_queries["history"], {**location.keys, **bounds})
    rows = yield from read(replica, page, witness=Query(_queries["witness"], location.keys))
    return [entry_of(location.thread_id, row) for row in rows]


def history(
    location: Location,
    *,
    after: int = 0,
    until: int | None = None,
    replica: Replica | None = None,
) -> Operation[list[Entry]]:
    """Return the thread's entries, oldest first; see :func:`history_page`."""
    entries: list[Entry] = []
    while True:
        page = yield from history_page(location, after=after, until=until, replica=replica)
        entries += page
        if len(page) < PAGE:
            return entries
        after = page[-1].entry_id


def count(location: Location) -> Operation[int]:
    """Return how many entries the thread has."""
    rows = yield from fetch(_queries["count"], **location.keys)
    return rows[0]["n"]


def threads(
    tenant: str, *, limit: int = 100, offset: int = 0, replica: Replica | None = None
) -> Operation[list[Row]]:
    """Return the tenant's threads, latest first, with their counts of entries and compactions.

    Args:
        tenant: Whose threads.
        limit: Most threads returned.
        offset: Threads to pass over.
        replica: Asked where it has all that the threads have; None: the primary is.

    Raises:
        ConfigurationError: There is no tenant, or a number is out of range.
    """
    check_tenant(tenant)
    check_whole("limit", limit)
    check_whole("offset", offset)
    listed = Query(_queries["threads"], {"tenant": tenant, "limit": limit, "offset": offset})
    witness = Query(_queries["witness_of_all"], {"tenant": tenant})
    return (yield from read(replica, listed, witness=witness))
