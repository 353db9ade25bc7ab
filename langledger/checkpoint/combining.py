"""Writes of many conversations in few transactions.

While some writes are on their way to the database, others wait; those go together in the next
statement. A write that finds nobody before it goes at once, so one conversation is not slowed
down, and many share round trips and disk syncs. Conversations stay apart: a thread that another
transaction holds is left out and written by itself, and an error is its own write's alone.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast
from uuid import UUID
from weakref import WeakKeyDictionary

from langledger.checkpoint.writing import RECORD
from langledger.database import AsyncDatabase, Database
from langledger.database.queries import load_queries
from langledger.errors import DatabaseError
from langledger.operations import Batch, Query, Row

__all__ = ["Combining"]

_queries = load_queries("langledger.checkpoint")

# Statements on their way at once, and what one carries at most.
_LEADERS = 4
_MOST_CALLS = 32
_MOST_BYTES = 256 << 10

# Yields statements, is sent their rows or errors.
_Rounds: TypeAlias = "Generator[Query, list[Row] | Exception]"


@dataclass(slots=True, eq=False)
class _Ticket:
    """A write that is to be done.

    Attributes:
        query: As a statement of its own.
        row: What came of it.
        error: Or what went wrong.
        leads: Its thread is to run the next statement, for others too.
        awake: Held while its thread waits.
    """

    query: Query
    row: Row | None = None
    error: BaseException | None = None
    leads: bool = False
    awake: threading.Lock = field(default_factory=threading.Lock)

    @property
    def key(self) -> str:
        """Its thread; all lock threads in this order, so that none wait in a circle."""
        return str(self.query.params["thread_key"])

    @property
    def size(self) -> int:
        """Bytes of content."""
        return sum(map(len, self.query.params["bodies"] or ()))

    @property
    def is_open(self) -> bool:
        """Whether it is not known yet what came of it."""
        return self.row is None and self.error is None

    def settle(self, outcome: list[Row] | Exception) -> None:
        """Take what came of it."""
        if isinstance(outcome, Exception):
            self.error = outcome
        else:
            self.row = outcome[0]

    def result(self) -> list[list[Row]]:
        """Return the rows of its batch, or raise."""
        if self.error is not None:
            raise self.error
        assert self.row is not None  # noqa: S101 - asked for when it is settled
        return [[self.row]]


class Combining:
    """Runs batches on a database, and combines the writes of checkpoints among them."""

    def __init__(self, database: Database | AsyncDatabase) -> None:
        self._database = database
        self._leaders = min(_LEADERS, database.max_size)
        self._threads = _Threads(database, self._leaders)
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Tasks] = WeakKeyDictionary()

    def execute(self, batch: Batch) -> list[list[Row]]:
        """Run a batch; see :class:`langledger.operations.Executor`."""
        if not _is_write(batch):
            return self._database.execute(batch)
        return self._threads.run(_Ticket(batch.queries[0]))

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        """Await :meth:`execute`."""
        if not _is_write(batch):
            return await self._database.aexecute(batch)
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = _Tasks(self._database, self._leaders)
        return await self._loops[loop].run(_Ticket(batch.queries[0]))


class _Threads:
    """Combines the writes of threads: one of those that wait runs the statement for all."""

    def __init__(self, database: Database | AsyncDatabase, leaders: int) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._free = leaders
        self._waiting: deque[_Ticket] = deque()

    def run(self, ticket: _Ticket) -> list[list[Row]]:
        """Write, and return the row."""
        with self._lock:
            if self._free:
                self._free -= 1
                ticket.leads = True
            else:
                ticket.awake.acquire()
                self._waiting.append(ticket)
        if not ticket.leads:
            ticket.awake.acquire()
        if ticket.leads:
            self._lead(ticket)
        return ticket.result()

    def _lead(self, own: _Ticket) -> None:
        with self._lock:
            taken = _taken(own, self._waiting)
        try:
            _perform(_rounds(taken), self._database)
        finally:
            for ticket in taken:
                if ticket.is_open:
                    ticket.error = DatabaseError(_INTERRUPTED)
                if ticket is not own:
                    ticket.awake.release()
            self._resign()

    def _resign(self) -> None:
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            successor = self._waiting.popleft()
        successor.leads = True
        successor.awake.release()


_INTERRUPTED = "the statement that carried this write was interrupted: write it again"


class _Tasks:
    """Combines the writes of an event loop's tasks."""

    def __init__(self, database: Database | AsyncDatabase, leaders: int) -> None:
        self._database = database
        self._free = leaders
        self._waiting: deque[tuple[_Ticket, asyncio.Future[None]]] = deque()
        self._leading: set[asyncio.Task[None]] = set()

    async def run(self, ticket: _Ticket) -> list[list[Row]]:
        """Write, and return the row."""
        settled = asyncio.get_running_loop().create_future()
        self._waiting.append((ticket, settled))
        if self._free:
            self._free -= 1
            task = asyncio.create_task(self._lead())
            self._leading.add(task)
            task.add_done_callback(self._leading.discard)
        await settled
        return ticket.result()

    async def _lead(self) -> None:
        try:
            while self._waiting:
                futures = dict(self._waiting)
                own, _ = self._waiting.popleft()
                taken = _taken(own, waiting := deque(ticket for ticket, _ in self._waiting))
                for _ in range(len(self._waiting) - len(waiting)):
                    self._waiting.popleft()
                try:
                    await _aperform(_rounds(taken), self._database)
                finally:
                    for ticket in taken:
                        if ticket.is_open:
                            ticket.error = DatabaseError(_INTERRUPTED)
                        if not futures[ticket].done():  # the caller may be cancelled
                            futures[ticket].set_result(None)
        finally:
            self._free += 1


def _is_write(batch: Batch) -> bool:
    return len(batch.queries) == 1 and batch.queries[0].sql is RECORD


def _taken(own: _Ticket, waiting: deque[_Ticket]) -> list[_Ticket]:
    """Take what goes into one statement with ``own``, in the order of their threads."""
    taken = [own]
    size = own.size
    while waiting and len(taken) < _MOST_CALLS and size + waiting[0].size <= _MOST_BYTES:
        size += waiting[0].size
        taken.append(waiting.popleft())
    return sorted(taken, key=lambda ticket: ticket.key)


def _rounds(tickets: Sequence[_Ticket]) -> _Rounds:
    """Write all of them at once, then by themselves those that this did not do."""
    if len(tickets) > 1:
        rows = yield _combined(tickets)
        for row in [] if isinstance(rows, Exception) else rows:
            if row["generation"] is not None:
                tickets[row["place"]].settle([row])
    for ticket in tickets:
        if ticket.is_open:
            ticket.settle((yield ticket.query))


def _perform(rounds: _Rounds, database: Database | AsyncDatabase) -> None:
    try:
        query = next(rounds)
        while True:
            try:
                outcome: list[Row] | Exception = database.execute(Batch([query]))[0]
            except Exception as error:  # noqa: BLE001 - it is raised where the write was asked for
                outcome = error
            query = rounds.send(outcome)
    except StopIteration:
        pass


async def _aperform(rounds: _Rounds, database: Database | AsyncDatabase) -> None:
    try:
        query = next(rounds)
        while True:
            try:
                outcome: list[Row] | Exception = (await database.aexecute(Batch([query])))[0]
            except Exception as error:  # noqa: BLE001 - it is raised where the write was asked for
                outcome = error
            query = rounds.send(outcome)
    except StopIteration:
        pass


def _combined(tickets: Sequence[_Ticket]) -> Query:
    calls = [
        {"place": place, **{name: _as_json(value) for name, value in ticket.query.params.items()}}
        for place, ticket in enumerate(tickets)
    ]
    return Query(_queries["record_many"], {"calls": json.dumps(calls), "wait": False})


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, list):
        return [_as_json(item) for item in cast("list[Any]", value)]
    return value
