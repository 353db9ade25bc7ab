"""Writes of many conversations in few transactions.

While some writes are on their way to the database, others wait; those go together in the next
statement. A write that finds nobody before it goes at once, so one conversation is not slowed
down, and many share round trips and disk syncs. Conversations stay apart: a thread that another
transaction holds is left out and then written by itself, by its own caller, and an error is its
own write's alone. Writes of one thread keep the order in which they were asked for.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID
from weakref import WeakKeyDictionary

from langledger.checkpoint.turns import Queue, Ticket, Turn
from langledger.checkpoint.writing import RECORD
from langledger.database import AsyncDatabase, Database
from langledger.database.forks import tell_of_forks
from langledger.database.queries import load_queries
from langledger.encryption import Later, Vault
from langledger.encryption.marks import resolved
from langledger.operations import Batch, Executor, Query, Row

__all__ = ["Combining"]

_queries = load_queries("langledger.checkpoint")

# Statements for several on their way at once. With more, each carries fewer writes, and the
# client's processor, which is the limit, does more for a write.
_LEADERS = 2
# Larger content is not worth writing as text.
_MOST_TEXT = 64 << 10
# Seconds until a thread that somebody holds is looked at again.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.1

# Yields statements and seconds to pause, is sent rows or errors.
_Steps: TypeAlias = "Generator[Query | float, Sequence[Row] | Exception]"
_Pool: TypeAlias = "Database | AsyncDatabase"


class Combining:
    """Runs batches on a database, and combines the writes of checkpoints among them."""

    def __init__(self, database: Database | AsyncDatabase) -> None:
        self._database = database
        self._begin()
        tell_of_forks(self)

    def before_fork(self) -> None:
        """Nothing is to be done in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Forget what the parent's threads, which are not in a child, were writing."""
        if in_child:
            _waiters.pop(self._database, None)
            self._begin()

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

    def run(self, batch: Batch, turn: Turn) -> list[list[Row]]:
        """Run a batch of a call."""
        if not _is_write(batch):
            return self._database.execute(batch)
        return self._threads.run(Ticket(batch.queries[0], turn))

    async def arun(self, batch: Batch, turn: Turn) -> list[list[Row]]:
        """Await :meth:`run`."""
        if not _is_write(batch):
            return await self._database.aexecute(batch)
        return await self._tasks().run(Ticket(batch.queries[0], turn))

    def _begin(self) -> None:
        self._threads = _Threads(self._database)
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Tasks] = WeakKeyDictionary()

    def _tasks(self) -> _Tasks:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = _Tasks(self._database)
        return self._loops[loop]


@dataclass(frozen=True, slots=True)
class _Bound:
    """Runs the batches of one call."""

    combining: Combining
    turn: Turn

    def execute(self, batch: Batch) -> list[list[Row]]:
        """Run a batch; see :class:`langledger.operations.Executor`."""
        return self.combining.run(batch, self.turn)

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        """Await :meth:`execute`."""
        return await self.combining.arun(batch, self.turn)


class _Threads:
    """Combines the writes of threads: one of those that wait runs the statement for all."""

    def __init__(self, database: _Pool) -> None:
        self._database = database
        self._waiters = _waiters_of(database)
        self._lock = threading.Lock()
        self._queue = Queue(_leaders_of(database))

    def enter(self, key: str) -> Turn:
        """Take note of a call."""
        with self._lock:
            return self._queue.enter(key)

    def leave(self, turn: Turn) -> None:
        """Take note of its end."""
        if turn.pending:
            with self._lock:
                self._queue.leave(turn)
                self._start()

    def run(self, ticket: Ticket) -> list[list[Row]]:
        """Write, and return the row."""
        ticket.awake.acquire()
        with self._lock:
            self._queue.add(ticket)
            self._start()
        try:
            ticket.awake.acquire()
        except BaseException:  # an interrupt of the main thread
            with self._lock:
                self._queue.give_up(ticket)
                self._start()
            raise
        if ticket.batch:
            self._lead(ticket)
        if ticket.is_open:
            self._follow_up(ticket)
        return ticket.result()

    def _start(self) -> None:
        while batch := self._queue.begin():
            batch[0].batch = batch
            batch[0].awake.release()

    def _lead(self, own: Ticket) -> None:
        batch = own.batch
        try:
            _run(_together(batch), self._database)
        except BaseException:
            own.gone = True
            raise
        finally:
            with self._lock:
                own.batch = ()
                self._queue.end(batch)
                self._start()
            for ticket in batch:
                if ticket is not own:
                    ticket.awake.release()

    def _follow_up(self, ticket: Ticket) -> None:
        try:
            _run(_alone(ticket, self._waiters), self._database)
        finally:
            with self._lock:
                self._queue.release(ticket)
                self._start()


class _Tasks:
    """Combines the writes of an event loop's tasks."""

    def __init__(self, database: _Pool) -> None:
        self._database = database
        self._waiters = _waiters_of(database)
        self._queue = Queue(_leaders_of(database))
        self._settled: dict[Ticket, asyncio.Future[None]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self.enter = self._queue.enter

    def leave(self, turn: Turn) -> None:
        """Take note of a call's end."""
        self._queue.leave(turn)
        self._start()

    async def run(self, ticket: Ticket) -> list[list[Row]]:
        """Write, and return the row."""
        settled = self._settled[ticket] = asyncio.get_running_loop().create_future()
        self._queue.add(ticket)
        self._start()
        await settled
        return ticket.result()

    def _start(self) -> None:
        while batch := self._queue.begin():
            self._spawn(self._lead(batch))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run it in a task of its own: who asked may be cancelled, others wait for it too."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _lead(self, batch: Sequence[Ticket]) -> None:
        try:
            await _arun(_together(batch), self._database)
        except BaseException:
            for ticket in batch:
                ticket.abandon()
            raise
        finally:
            self._queue.end(batch)
            self._start()
            for ticket in batch:
                if ticket.is_open:
                    self._spawn(self._follow_up(ticket))
                else:
                    self._tell(ticket)

    async def _follow_up(self, ticket: Ticket) -> None:
        try:
            await _arun(_alone(ticket, self._waiters), self._database)
        finally:
            ticket.abandon()
            self._queue.release(ticket)
            self._start()
            self._tell(ticket)

    def _tell(self, ticket: Ticket) -> None:
        settled = self._settled.pop(ticket)
        if not settled.done():
            settled.set_result(None)


# A statement that waits for a thread holds a connection: only half of a pool's may.
_waiters: WeakKeyDictionary[_Pool, threading.Semaphore] = WeakKeyDictionary()


def _waiters_of(database: _Pool) -> threading.Semaphore:
    return _waiters.setdefault(database, threading.Semaphore(database.max_size // 2))


def _leaders_of(database: _Pool) -> int:
    return min(_LEADERS, database.max_size - database.max_size // 2)


def _is_write(batch: Batch) -> bool:
    return len(batch.queries) == 1 and batch.queries[0].sql is RECORD


def _together(batch: Sequence[Ticket]) -> _Steps:
    """Write all of them at once, but those whose thread somebody holds."""
    if len(batch) == 1:
        batch[0].settle((yield _at_once(batch[0])))
        return
    rows = yield _combined(batch)
    if not isinstance(rows, Exception):
        for row in rows:
            batch[row["place"]].settle([row])


def _alone(ticket: Ticket, waiters: threading.Semaphore) -> _Steps:
    """Write one by itself: wait for whoever holds its thread, or look again and again."""
    waits = waiters.acquire(blocking=False)
    pause = _FIRST_PAUSE
    try:
        while ticket.is_open:
            ticket.settle((yield ticket.query if waits else _at_once(ticket)))
            if ticket.is_open:
                yield pause
                pause = min(2 * pause, _LONGEST_PAUSE)
                waits = waits or waiters.acquire(blocking=False)
    finally:
        if waits:
            waiters.release()


def _run(steps: _Steps, database: _Pool) -> None:
    try:
        step = next(steps)
        while True:
            step = steps.send(_taken(step, database))
    except StopIteration:
        pass
    finally:
        steps.close()


def _taken(step: Query | float, database: _Pool) -> Sequence[Row] | Exception:
    if not isinstance(step, Query):
        time.sleep(step)
        return []
    try:
        return database.execute(Batch([step]))[0]
    except Exception as error:  # noqa: BLE001 - it is raised where the write was asked for
        return error


async def _arun(steps: _Steps, database: _Pool) -> None:
    try:
        step = next(steps)
        while True:
            step = steps.send(await _ataken(step, database))
    except StopIteration:
        pass
    finally:
        steps.close()


async def _ataken(step: Query | float, database: _Pool) -> Sequence[Row] | Exception:
    if not isinstance(step, Query):
        await asyncio.sleep(step)
        return []
    try:
        return (await database.aexecute(Batch([step])))[0]
    except Exception as error:  # noqa: BLE001 - it is raised where the write was asked for
        return error


def _at_once(ticket: Ticket) -> Query:
    """Return the statement that writes one, unless somebody holds its thread."""
    if ticket.size <= _MOST_TEXT:
        return _combined([ticket])
    return Query(ticket.query.sql, {**ticket.query.params, "wait": False})


def _combined(tickets: Sequence[Ticket]) -> Query:
    """Return one statement for several calls; as text, which is quicker to make of small ones."""
    calls = [ticket.query.params for ticket in tickets]
    tenant = calls[0]["tenant"]  # a checkpointer's is the same in all of them

    def as_text(vault: Vault | None) -> str:
        rows = [{"place": n, **_as_json(resolved(call, vault))} for n, call in enumerate(calls)]
        return json.dumps(rows)

    return Query(_queries["record_many"], {"tenant": tenant, "calls": Later(as_text, writes=True)})


def _as_json(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **params,
        "thread_key": str(params["thread_key"]),
        "checkpoint_id": _hex(params["checkpoint_id"]),
        "record": _hex(params["record"]),
        "digests": [_hex(digest) for digest in params["digests"] or ()],
        "bodies": [_hex(body) for body in params["bodies"] or ()],
    }


def _hex(data: bytes | None) -> str | None:
    return None if data is None else f"\\x{data.hex()}"
