"""What waits in memory while the database is away, and how it gets into the database.

A wait is decided once, not at every statement: after the first failure nobody asks the database
again before a ping was answered. What was held is recorded in the order it was given; messages
have ids, so one that did get there before the connection was lost is there once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from langledger import entries
from langledger.arguments import check_seconds, check_whole
from langledger.database import AsyncDatabase, Database
from langledger.database.connection import conninfo
from langledger.database.forks import tell_of_forks
from langledger.entries import Location
from langledger.errors import DatabaseUnavailableError, LangLedgerError
from langledger.operations import Executor, Operation, call, run
from langledger.telemetry import count_waiting, without_content

__all__ = ["Held", "Outage", "outage_of", "with_outage_buffer"]

T = TypeVar("T")

logger = logging.getLogger("langledger.outage")

_PAUSE = 1.0  # seconds between two pings
_PING_SECONDS = 2
_outages: WeakKeyDictionary[Executor, Outage] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Messages that wait, as they were given to be recorded.

    Attributes:
        location: The thread.
        messages: In order.
        new: How many of them were not held or recorded before.
        from_start: They are the thread from its beginning.
        facts: What else :func:`langledger.entries.append` is to be given.
    """

    location: Location
    messages: Sequence[BaseMessage]
    new: int
    from_start: bool = False
    facts: Mapping[str, Any]

    def covers(self, other: Held) -> bool:
        """Tell whether this is the whole history, and all that the other holds is in it."""
        if not self.from_start or self.location != other.location:
            return False
        named = {message.id: message for message in self.messages if message.id is not None}
        objects = set(map(id, self.messages))
        return all(
            id(message) in objects or (message.id in named and named[message.id] == message)
            for message in other.messages
        )

    def recording(self) -> Operation[Any]:
        """Return the operation that records them."""
        return entries.append(
            self.location, self.messages, from_start=self.from_start, **self.facts
        )


class Outage:
    """Holds messages while the database is away, at most so many, and records them afterwards.

    Args:
        executor: Records them.
        most: Messages held at once; with more, the database's absence is an error again.
        answers: Tells quickly whether the database is there.
    """

    def __init__(self, executor: Executor, *, most: int, answers: Callable[[], bool]) -> None:
        self._executor = executor
        self._answers = answers
        self.most = check_whole("messages", most, least=1)
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._held: deque[Held] = deque()
        self._changed = threading.Condition()
        self._recording = threading.Lock()
        self._watcher: threading.Thread | None = None
        self._closing = False
        self._error: DatabaseUnavailableError | None = None
        self._next_ping = 0.0

    def before_fork(self) -> None:
        """Nothing is to be done in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Leave what waits to the parent, in a child."""
        if in_child:
            self._begin()

    @property
    def away(self) -> bool:
        """Whether the database was not there when it was last asked."""
        return self._error is not None

    @property
    def waiting(self) -> int:
        """How many messages wait to be recorded."""
        return sum(held.new for held in list(self._held))

    def bridge(
        self, operation: Operation[T], otherwise: Callable[[], Operation[T]]
    ) -> Operation[T]:
        """Run an operation, after what waits; run the other one while the database is away.

        Args:
            operation: Reads or writes; not begun yet.
            otherwise: What to do without a database.

        Raises:
            DatabaseUnavailableError: It is away, and more would wait than may.
        """
        if (yield from self._is_back()):
            try:
                if (yield from self.catch_up()):
                    result = yield from operation
                    self._error = None
                    return result
            except DatabaseUnavailableError as error:
                self._lose(error)
        return (yield from otherwise())

    def hold(self, held: Held) -> int:
        """Have messages wait; return how many do now.

        Raises:
            DatabaseUnavailableError: More would wait than may; these do not.
            SerializationError: One of them cannot be stored.
        """
        checked = held.recording()
        next(checked)  # up to its first statement: what cannot be recorded is told now
        checked.close()
        with self._changed:
            others = [other for other in self._held if not held.covers(other)]
            waiting = held.new + sum(other.new for other in others)
            if waiting > self.most:
                raise DatabaseUnavailableError(self._full()) from self._error
            count_waiting(waiting - self.waiting)
            self._held = deque([*others, held])
            if self._watcher is None:
                self._watcher = threading.Thread(
                    target=self._watch, name="langledger-outage", daemon=True
                )
                self._watcher.start()
            return self.waiting

    def catch_up(self) -> Operation[bool]:
        """Record what waits, in order; return whether nothing does any more.

        Raises:
            DatabaseError: The database is away, or refuses; what is left goes on waiting.
        """
        if not self._recording.acquire(blocking=False):
            return False  # somebody is at it; who comes now must not come first
        try:
            while self._held:
                held = self._held[0]
                yield from held.recording()
                self._done(held)
        finally:
            self._recording.release()
        return True

    def close(self) -> None:
        """Record what waits if the database is there, and hold no more."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            watcher = self._watcher
        if watcher is not None:
            watcher.join()
        self._closing = False
        if self._held and self._answers():
            self._try()
        if self._held:
            logger.error("%d messages were never recorded: the database is away", self.waiting)

    def _full(self) -> str:
        return (
            f"{self.waiting} messages wait to be recorded and {self.most} may: bring the database "
            f"back, or raise the outage buffer (LANGLEDGER_OUTAGE_BUFFER) ({self._error})"
        )

    def _is_back(self) -> Operation[bool]:
        if not self.away:
            return True
        if time.monotonic() < self._next_ping and self.waiting < self.most:
            return False
        there = yield from call(self._answers)
        self._next_ping = time.monotonic() + _PAUSE
        return there

    def _lose(self, error: DatabaseUnavailableError) -> None:
        if not self.away:
            logger.warning("the database is away, messages wait in memory: %s", error)
        self._error = error
        self._next_ping = time.monotonic() + _PAUSE

    def _done(self, held: Held) -> None:
        with self._changed:
            # One that grew meanwhile stays, and is recorded whole.
            if self._held and self._held[0] is held:
                self._held.popleft()
                count_waiting(-held.new)
                if not self._held:
                    logger.warning("the database is back, all messages are recorded")

    def _watch(self) -> None:
        """Record what waits as soon as that is possible, whether or not anybody comes."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing, timeout=_PAUSE)
                if self._closing or not self._held:
                    self._watcher = None
                    return
            if self._answers():
                self._try()

    def _try(self) -> None:
        try:
            if run(self.catch_up(), self._executor):
                self._error = None
        except LangLedgerError as error:
            logger.warning("messages go on waiting: %s", without_content(error))


def outage_of(executor: Executor) -> Outage | None:
    """Return what holds messages for a pool of connections, if anything does."""
    return _outages.get(executor)


def with_outage_buffer(
    database: Database | AsyncDatabase, *, messages: int, after: float
) -> Outage:
    """Have messages wait in memory while this database is away.

    Args:
        database: The pool; waits for the server so long from now on.
        messages: Most that wait.
        after: Seconds without an answer until the database counts as away.

    Raises:
        ConfigurationError: A number is out of range.
    """
    check_seconds("after", after)
    address = make_conninfo(conninfo(database.dsn), connect_timeout=_PING_SECONDS)
    outage = Outage(database, most=messages, answers=lambda: _answers(address))
    database.timeout = after
    _outages[database] = outage
    return outage


def _answers(address: str) -> bool:
    return PGconn.ping(address.encode()) == Ping.OK
