"""Writes of many conversations in few transactions.

While some writes are on their way to the database, others wait; those go together in the next
statement. A write that finds nobody before it goes at once, so one conversation is not slowed
down, and many share round trips and disk syncs. Conversations stay apart: a thread that another
transaction holds is left out and written by itself, and an error is its own write's alone. Writes
of one thread keep the order in which they were asked for.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from bisect import insort
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast
from uuid import UUID
from weakref import WeakKeyDictionary

from langledger.checkpoint.writing import RECORD
from langledger.database import AsyncDatabase, Database
from langledger.database.queries import load_queries
from langledger.errors import DatabaseError
from langledger.operations import Batch, Executor, Query, Row

__all__ = ["Combining"]

_queries = load_queries("langledger.checkpoint")

# Statements on their way at once, and what one carries at most.
_LEADERS = 4
_MOST_CALLS = 32
_MOST_BYTES = 256 << 10

# Yields statements, is sent their rows or errors.
_Rounds: TypeAlias = "Generator[Query, list[Row] | Exception]"


_INTERRUPTED = "the statement that carried this write was interrupted: write it again"


@dataclass(slots=True, eq=False)
class _Ticket:
    """A write that is to be done.

    Attributes:
        query: As a statement of its own.
        turn: The call it belongs to.
        row: What came of it.
        error: Or what went wrong.
        batch: What its caller is to write, for others too.
        awake: Held while its thread waits.
    """

    query: Query
    turn: _Turn
    row: Row | None = None
    error: BaseException | None = None
    batch: Sequence[_Ticket] = ()
    awake: threading.Lock = field(default_factory=threading.Lock)

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


@dataclass(slots=True, eq=False)
class _Turn:
    """A call that writes to a thread, from when it was made.

    Attributes:
        key: The thread.
        number: Counts calls.
        pending: It has not come to its first write.
    """

    key: str
    number: int
    pending: bool = True


class Combining:
    """Runs batches on a database, and combines the writes of checkpoints among them."""

    def __init__(self, database: Database | AsyncDatabase) -> None:
        self._database = database
        self._leaders = min(_LEADERS, database.max_size)
        self._threads = _Threads(database, self._leaders)
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Tasks] = WeakKeyDictionary()

    @contextmanager
    def turn(self, thread_key: UUID) -> Generator[Executor]:
        """Give what runs a call's batches; its first write keeps its place among the thread's."""
        turn = self._threads.enter(str(thread_key))
        try:
            yield _Bound(self, turn)
        finally:
            self._threads.leave(turn)

    @contextmanager
    def aturn(self, thread_key: UUID) -> Generator[Executor]:
        """Do as :meth:`turn`, in an event loop."""
        tasks = self._tasks()
        turn = tasks.enter(str(thread_key))
        try:
            yield _Bound(self, turn)
        finally:
            tasks.leave(turn)

    def run(self, batch: Batch, turn: _Turn) -> list[list[Row]]:
        """Run a batch of a call."""
        if not _is_write(batch):
            return self._database.execute(batch)
        return self._threads.run(_Ticket(batch.queries[0], turn))

    async def arun(self, batch: Batch, turn: _Turn) -> list[list[Row]]:
        """Await :meth:`run`."""
        if not _is_write(batch):
            return await self._database.aexecute(batch)
        return await self._tasks().run(_Ticket(batch.queries[0], turn))

    def _tasks(self) -> _Tasks:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = _Tasks(self._database, self._leaders)
        return self._loops[loop]


@dataclass(frozen=True, slots=True)
class _Bound:
    """Runs the batches of one call."""

    combining: Combining
    turn: _Turn

    def execute(self, batch: Batch) -> list[list[Row]]:
        """Run a batch; see :class:`langledger.operations.Executor`."""
        return self.combining.run(batch, self.turn)

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        """Await :meth:`execute`."""
        return await self.combining.arun(batch, self.turn)


class _Queue:
    """The writes that wait, and the threads that others are being written to.

    Args:
        leaders: Statements on their way at once.
    """

    def __init__(self, leaders: int) -> None:
        self._free = leaders
        self._numbers = itertools.count()
        self._pending: dict[str, list[int]] = {}
        self._waiting: list[_Ticket] = []
        self._held: set[str] = set()

    def enter(self, key: str) -> _Turn:
        """Take note of a call, before it comes to write."""
        turn = _Turn(key, next(self._numbers))
        self._pending.setdefault(key, []).append(turn.number)
        return turn

    def leave(self, turn: _Turn) -> None:
        """Let later calls write: this one writes now, or never."""
        if turn.pending:
            turn.pending = False
            self._pending[turn.key].remove(turn.number)
            if not self._pending[turn.key]:
                del self._pending[turn.key]

    def add(self, ticket: _Ticket) -> None:
        """Add a write, in the order of calls."""
        self.leave(ticket.turn)
        insort(self._waiting, ticket, key=lambda waiting: waiting.turn.number)

    def begin(self) -> list[_Ticket]:
        """Return what goes into the next statement, in the order of threads, if any does."""
        batch: list[_Ticket] = []
        size = 0
        for ticket in self._waiting if self._free else ():
            if self._must_wait(ticket):
                continue
            size += ticket.size
            if batch and (len(batch) == _MOST_CALLS or size > _MOST_BYTES):
                break
            batch.append(ticket)
        if batch:
            self._free -= 1
            self._held |= {ticket.turn.key for ticket in batch}
            taken = set(map(id, batch))
            self._waiting = [ticket for ticket in self._waiting if id(ticket) not in taken]
        # All statements lock threads in this order, so that none wait in a circle.
        return sorted(batch, key=lambda ticket: ticket.turn.key)

    def end(self, batch: Sequence[_Ticket]) -> None:
        """Let others write to the threads of a batch that is done."""
        self._free += 1
        self._held -= {ticket.turn.key for ticket in batch}

    def _must_wait(self, ticket: _Ticket) -> bool:
        earlier = self._pending.get(ticket.turn.key, ())
        return ticket.turn.key in self._held or any(n < ticket.turn.number for n in earlier)


class _Threads:
    """Combines the writes of threads: one of those that wait runs the statement for all."""

    def __init__(self, database: Database | AsyncDatabase, leaders: int) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._queue = _Queue(leaders)

    def enter(self, key: str) -> _Turn:
        """Take note of a call."""
        with self._lock:
            return self._queue.enter(key)

    def leave(self, turn: _Turn) -> None:
        """Take note of its end."""
        with self._lock:
            self._queue.leave(turn)
            self._start()

    def run(self, ticket: _Ticket) -> list[list[Row]]:
        """Write, and return the row."""
        ticket.awake.acquire()
        with self._lock:
            self._queue.add(ticket)
            self._start()
        ticket.awake.acquire()
        if ticket.batch:
            self._lead(ticket)
        return ticket.result()

    def _start(self) -> None:
        while batch := self._queue.begin():
            batch[0].batch = batch
            batch[0].awake.release()

    def _lead(self, own: _Ticket) -> None:
        try:
            _perform(_rounds(own.batch), self._database)
        finally:
            with self._lock:
                self._queue.end(own.batch)
                self._start()
            for ticket in own.batch:
                ticket.abandon()
                if ticket is not own:
                    ticket.awake.release()


class _Tasks:
    """Combines the writes of an event loop's tasks."""

    def __init__(self, database: Database | AsyncDatabase, leaders: int) -> None:
        self._database = database
        self._queue = _Queue(leaders)
        self._settled: dict[int, asyncio.Future[None]] = {}
        self._leading: set[asyncio.Task[None]] = set()
        self.enter = self._queue.enter

    def leave(self, turn: _Turn) -> None:
        """Take note of a call's end."""
        self._queue.leave(turn)
        self._start()

    async def run(self, ticket: _Ticket) -> list[list[Row]]:
        """Write, and return the row."""
        settled = self._settled[id(ticket)] = asyncio.get_running_loop().create_future()
        self._queue.add(ticket)
        self._start()
        await settled
        return ticket.result()

    def _start(self) -> None:
        while batch := self._queue.begin():
            task = asyncio.create_task(self._lead(batch))
            self._leading.add(task)
            task.add_done_callback(self._leading.discard)

    async def _lead(self, batch: Sequence[_Ticket]) -> None:
        try:
            await _aperform(_rounds(batch), self._database)
        finally:
            self._queue.end(batch)
            self._start()
            for ticket in batch:
                ticket.abandon()
                settled = self._settled.pop(id(ticket))
                if not settled.done():  # who asked may be cancelled
                    settled.set_result(None)


def _is_write(batch: Batch) -> bool:
    return len(batch.queries) == 1 and batch.queries[0].sql is RECORD


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
