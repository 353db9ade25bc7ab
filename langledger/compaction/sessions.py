"""The sessions a process keeps, and how one learns what another process did."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from langledger.compaction.records import belongs, cut_of
from langledger.compaction.session import Session
from langledger.entries import Location
from langledger.operations import Operation, Row

__all__ = ["Sessions", "follow"]


class Sessions:
    """The sessions a process keeps, the least recently used dropped first.

    A session is taken out while a call uses it, so two calls on one thread never share one:
    the second starts from the database.
    """

    def __init__(self, *, capacity: int = 256) -> None:
        self._capacity = capacity
        self._sessions: OrderedDict[Location, Session] = OrderedDict()

    def take(self, location: Location) -> Session | None:
        """Remove and return the thread's session, or None."""
        return self._sessions.pop(location, None)

    def peek(self, location: Location) -> Session | None:
        """Return the thread's session where it is, or None."""
        return self._sessions.get(location)

    def put(self, location: Location, session: Session) -> None:
        """Keep a session for the thread's next call."""
        self._sessions[location] = session
        while len(self._sessions) > self._capacity:
            self._sessions.popitem(last=False)


def follow(location: Location, session: Session, rows: Sequence[Row]) -> Operation[bool]:
    """Adopt a compaction that another process made, where it belongs here and does no less."""
    for row in rows:
        cut = cut_of(row)
        session.highest = max(session.highest, cut.generation)
        behind = session.cut is not None and cut.boundary < session.cut.boundary
        if not behind and (yield from belongs(location, cut, session.tracked)):
            session.adopt(cut)
            return True
    return False
