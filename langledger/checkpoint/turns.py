"""The order in which writes that wait go to the database; knows neither threads nor tasks."""

from __future__ import annotations

import itertools
import threading
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from langledger.errors import DatabaseError
from langledger.operations import Query, Row

__all__ = ["Queue", "Ticket", "Turn"]

# What one statement carries at most.
_MOST_CALLS = 32
_MOST_BYTES = 256 << 10

_INTERRUPTED = "the statement that carried this write was interrupted: write it again"


@dataclass(slots=True, eq=False)
class Turn:
    """A call that writes to a thread, from when it was made.

    Attributes:
        key: The thread.
        number: Counts calls.
        pending: It has not come to its first write.
    """

    key: str
    number: int
    pending: bool = True


@dataclass(slots=True, eq=False)
class Ticket:
    """A write that is to be done.

    Attributes:
        query: As a statement of its own.
        turn: The call it belongs to.
        size: Bytes of content.
        row: What came of it.
        error: Or what went wrong.
        batch: What its caller is to write, for others too.
        left: A statement for several did not do it: its caller is to write it by itself.
        gone: Its caller is gone.
        awake: Held while its thread waits.
    """

    query: Query
    turn: Turn
    size: int = field(init=False)
    row: Row | None = None
    error: BaseException | None = None
    batch: Sequence[Ticket] = ()
    left: bool = False
    gone: bool = False
    awake: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.size = sum(map(len, self.query.params["bodies"] or ()))

    @property
    def is_open(self) -> bool:
        """Whether it is not known yet what came of it."""
        return self.row is None and self.error is None

    def settle(self, outcome: Sequence[Row] | Exception) -> None:
        """Take what came of it; nothing did if somebody else holds its thread."""
        if isinstance(outcome, Exception):
            self.error = outcome
        elif outcome[0]["generation"] is not None:
            self.row = outcome[0]

    def abandon(self) -> None:
        """Give up if nothing came of it: the statement was interrupted."""
        if self.is_open:
            self.error = DatabaseError(_INTERRUPTED)

    def result(self) -> list[list[Row]]:
        """Return the rows of its batch, or raise."""
        if self.error is not None:
            raise self.error
        assert self.row is not None  # noqa: S101 - asked for when it is settled
        return [[self.row]]


class Queue:
    """The writes that wait, and the threads that others are being written to.

    Args:
        leaders: Statements for several on their way at once. None of them waits for a thread, so
            that no conversation stops the others.
    """

    def __init__(self, leaders: int) -> None:
        self._free = leaders
        self._numbers = itertools.count()
        self._pending: dict[str, list[int]] = {}
        self._waiting: list[Ticket] = []
        self._held: set[str] = set()

    def enter(self, key: str) -> Turn:
        """Take note of a call, before it comes to write."""
        turn = Turn(key, next(self._numbers))
        self._pending.setdefault(key, []).append(turn.number)
        return turn

    def leave(self, turn: Turn) -> None:
        """Let later calls write: this one writes now, or never."""
        if turn.pending:
            turn.pending = False
            self._pending[turn.key].remove(turn.number)
            if not self._pending[turn.key]:
                del self._pending[turn.key]

    def add(self, ticket: Ticket) -> None:
        """Add a write, in the order of calls."""
        self.leave(ticket.turn)
        insort(self._waiting, ticket, key=lambda waiting: waiting.turn.number)

    def begin(self) -> list[Ticket]:
        """Return what goes into the next statement, in the order of threads, if any does."""
        batch: list[Ticket] = []
        size = 0
        for ticket in self._waiting if self._free else ():
            if self._must_wait(ticket):
                continue
            size += ticket.size
            if batch and (len(batch) == _MOST_CALLS or size > _MOST_BYTES):
                break
            batch.append(ticket)
            self._held.add(ticket.turn.key)
        if batch:
            self._free -= 1
            taken = set(batch)
            self._waiting = [ticket for ticket in self._waiting if ticket not in taken]
        # All statements lock threads in this order, so that none wait in a circle.
        return sorted(batch, key=lambda ticket: ticket.turn.key)

    def end(self, batch: Sequence[Ticket]) -> None:
        """Take back a statement; let others write to the threads that it did write to."""
        self._free += 1
        for ticket in batch:
            ticket.left = ticket.is_open and not ticket.gone
            if not ticket.left:
                self._held.discard(ticket.turn.key)

    def release(self, ticket: Ticket) -> None:
        """Let others write to the thread of a write that was left, and is done now."""
        self._held.discard(ticket.turn.key)

    def give_up(self, ticket: Ticket) -> None:
        """Forget a write whose caller was interrupted while it waited."""
        ticket.gone = True
        if ticket in self._waiting:
            self._waiting.remove(ticket)
        elif ticket.left:
            self.release(ticket)
        elif ticket.batch:  # it was to run the statement: another has to
            self._free += 1
            for other in ticket.batch:
                self.release(other)
                if other is not ticket:
                    insort(self._waiting, other, key=lambda waiting: waiting.turn.number)

    def _must_wait(self, ticket: Ticket) -> bool:
        key, number = ticket.turn.key, ticket.turn.number
        return key in self._held or any(n < number for n in self._pending.get(key, ()))
