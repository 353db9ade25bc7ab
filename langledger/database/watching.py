"""Statements that a server does not answer, told from those that take long.

A server that hangs keeps its connections: TCP finds nothing wrong with them, and who waits for an
answer waits for ever. So while a statement takes long the server is asked for a sign of life on
another connection. One that gives one may take its time.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psycopg

from langledger.database.connection import AnyConnection, connect
from langledger.errors import DatabaseError, DatabaseUnavailableError

__all__ = ["Watch"]

_QUIET = 0.25  # of the time: so long nobody is asked
_LEAST_QUIET = 0.2  # seconds between two questions
_IDLE_SECONDS = 5.0  # after which the thread ends
_CLOSING_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class _Waiting:
    """A statement under way.

    Attributes:
        connection: That it was sent on.
        seconds: How long the server may give no sign of life.
        due: When it is looked at next, by the monotonic clock.
        asked: When the server was asked for a sign of life; None: it was not, or gave one since.
        silent: It gave none, and the connection was ended.
    """

    connection: AnyConnection
    seconds: float
    due: float
    asked: float | None = None
    silent: bool = False


class Watch:
    """Looks after the statements of a pool, in one thread that is there while there are some.

    Args:
        conninfo: Where the server is.
    """

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._waiting: set[_Waiting] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._wakes = math.inf  # when it does by itself
        self._asked = self._answered = -math.inf
        self._closing = False

    @property
    def under_way(self) -> int:
        """How many statements are."""
        return len(self._waiting)

    def close(self) -> None:
        """End the thread, unless a statement is under way; it is there again for the next one."""
        with self._changed:
            thread, self._closing = self._thread, True
            self._changed.notify()
        if thread is not None:
            thread.join(_CLOSING_SECONDS)

    @contextmanager
    def over(self, connection: AnyConnection, seconds: float) -> Generator[None]:
        """End the connection if the server is silent for so long while the block waits for it.

        Raises:
            DatabaseUnavailableError: It was.
        """
        one = _Waiting(connection, seconds, time.monotonic() + _QUIET * seconds)
        self._add(one)
        try:
            yield
        except psycopg.Error as error:
            if not one.silent:
                raise
            raise DatabaseUnavailableError(
                f"PostgreSQL has not answered for {seconds:.3g} s, though nothing refuses the "
                "connection: look at the server and at what stands before it (nobody knows what "
                "became of the statement)"
            ) from error
        finally:  # from here on the connection may be somebody else's
            with self._changed:
                self._waiting.discard(one)

    def _add(self, one: _Waiting) -> None:
        with self._changed:
            self._waiting.add(one)
            self._closing = False
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="langledger-watch", daemon=True
                )
                self._thread.start()
            elif one.due < self._wakes:
                self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for one in [one for one in self._waiting if one.due <= now]:
                    self._look_at(one, now)
                self._wakes = min((one.due for one in self._waiting), default=math.inf)
                wait = max(0.0, min(self._wakes - now, _IDLE_SECONDS))
                if (not self._changed.wait(wait) or self._closing) and not self._waiting:
                    self._thread = None
                    return

    def _look_at(self, one: _Waiting, now: float) -> None:
        if one.asked is None:
            one.asked, one.due = self._ask(now), now + (1 - _QUIET) * one.seconds
        elif self._answered >= one.asked:
            one.asked, one.due = None, now + _QUIET * one.seconds
        else:
            one.silent, one.due = True, math.inf
            _cut(one.connection)

    def _ask(self, now: float) -> float:
        """Ask for a sign of life, unless somebody has just done so; return when that was."""
        if now - self._asked >= _LEAST_QUIET:
            self._asked = now
            threading.Thread(target=self._hear, name="langledger-watch-asks", daemon=True).start()
        return self._asked

    def _hear(self) -> None:
        # No statement: of a pooler all of whose sessions are busy it would hear nothing.
        try:
            connect(self._conninfo).close()
        except DatabaseError as error:
            # A refusal is an answer: of a server that is gone whoever waits hears without us.
            if isinstance(error.__cause__, psycopg.errors.ConnectionTimeout):
                return
        with self._changed:
            self._answered = time.monotonic()


def _cut(connection: AnyConnection) -> None:
    """End a connection that another thread waits for, which is woken by that."""
    with suppress(psycopg.Error, OSError):  # it has just been closed
        line = socket.fromfd(connection.pgconn.socket, socket.AF_INET, socket.SOCK_STREAM)
        with line:
            line.shutdown(socket.SHUT_RDWR)
