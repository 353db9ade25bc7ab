"""The pool of connections that runs batches, blocking and awaited.

A batch is one round trip: its statements go out in one pipeline, in one
transaction. Nothing depends on session state, so PgBouncer in transaction mode may
stand in between. A forked child leaves its parent's connections alone and opens its own
when it first needs one.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakSet

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from langledger.database import connection as connections
from langledger.database.batches import Statements, arun_batch, run_batch
from langledger.database.failures import real_error
from langledger.database.pool_base import NOT_OPEN, PoolBase, left
from langledger.errors import DatabaseError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Batch, Row

__all__ = ["AsyncDatabase", "Database"]

T = TypeVar("T")


class _Pool(ConnectionPool[Connection["Row"]]):
    """A pool that is not taken down by a forked child, which has none of its threads."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.opened_by = os.getpid()
        super().__init__(*args, **kwargs)

    def __del__(self) -> None:
        if self.opened_by == os.getpid():
            super().__del__()


class Database(PoolBase):
    """A pool of connections to one schema of one database; blocking.

    Args:
        dsn: URL or key=value string, as libpq takes it.
        schema: Holds the tables. Letters, digits and ``_``.
        min_size: Connections kept open while idle.
        max_size: Connections open at once; who finds none waits.
        timeout: Seconds to wait for a connection, and to go on retrying.
        trouble: Asked for a reason when the server is gone; ``EmbeddedServer.trouble``.
        revive: Called before each connection of the pool is made; ``EmbeddedServer.revive``.
        require_row_security: Refuse a role that row-level security does not hold for.
        encryption: Keys that content is encrypted with; None: it is stored in clear.

    Raises:
        ConfigurationError: When an argument is out of range or the DSN is not readable.
    """

    _pool: _Pool | None = None
    _parents: _Pool | None = None  # kept in a forked child, where ending it could block
    _inherited: threading.Lock | None = None

    def _leave_behind(self) -> None:
        if self._pool is not None:
            self._parents, self._pool = self._pool, None
        elif self._inherited is None:
            return
        self._inherited = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether it was opened, and not closed since."""
        return self._pool is not None

    def open(self) -> Self:
        """Connect, and return self; does nothing when it is open.

        Raises:
            DatabaseUnavailableError: When nobody answers, or the server refuses us.
        """
        if self._pool is None:
            self._probe()
            self._pool = _Pool(
                self._where,
                kwargs=self._options,
                min_size=self._min_size,
                max_size=self.max_size,
                timeout=self.timeout,
                reconnect_timeout=self.timeout,
                open=True,
            )
            self._inherited = None
            if self.replica is not None:
                self.replica.open(self)
        return self

    def close(self) -> None:
        """Close every connection; does nothing when it is closed."""
        pool, self._pool, self._inherited = self._pool, None, None
        if pool is not None:
            pool.close()
        self._watch.close()
        if self.replica is not None:
            self.replica.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def setup(self) -> None:
        """Create the schema and bring it up to date; safe to call at every start.

        Raises:
            MigrationError: When it cannot be, the schema is then as it was before.
            SchemaTooNewError: When a newer langledger was here.
        """
        if self._migrate() and self._pool is not None:
            self._pool.drain()

    async def asetup(self) -> None:
        """Await :meth:`setup`."""
        await asyncio.to_thread(self.setup)

    def execute(self, batch: Batch) -> list[list[Row]]:
        """Run a batch in one transaction and one round trip.

        Returns:
            The rows of each statement, in order; none for one that returns no rows.

        Raises:
            DatabaseError: When the server refuses a statement; nothing was written.
            DatabaseUnavailableError: When it cannot be reached within the timeout.
            NotSetUpError: When the schema is not there.
            EncryptionError: When what it holds is encrypted and cannot be decrypted.
        """
        steps = self.vaults.steps(batch)
        try:
            step = next(steps)
            while True:
                try:
                    results = self._execute(step, self._patience(batch))
                except DatabaseError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(results)
        except StopIteration as done:
            return done.value

    def _execute(self, batch: Batch, seconds: float) -> list[list[Row]]:
        statements = self._statements(batch)
        deadline = time.monotonic() + seconds
        with self._reporting():
            for attempt in self._attempts(batch, seconds):
                with attempt:
                    return self._try(statements, deadline, seconds)[-len(batch.queries) :]
        raise AssertionError("a retry ends with a result or an error")

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        """Run :meth:`execute` in a worker thread."""
        return await asyncio.to_thread(self.execute, batch)

    def _try(self, statements: Statements, deadline: float, seconds: float) -> list[list[Row]]:
        pool = self._opened()
        try:
            while True:
                with pool.connection(timeout=left(deadline)) as connection:
                    if connections.is_alive(connection, deadline):
                        with self._watched(connection, deadline, seconds):
                            return run_batch(connection, statements)
                # Given back dead, it is replaced; its neighbours are mostly dead too.
        except PoolTimeout as error:
            self._explain(error, seconds)
        except psycopg.errors.PipelineAborted as error:
            raise real_error(error) from None

    def _opened(self) -> _Pool:
        inherited = self._inherited
        if inherited is not None:
            with inherited:
                self.open()
        if self._pool is None:
            raise DatabaseError(NOT_OPEN)
        return self._pool


class AsyncDatabase(PoolBase):
    """The same as :class:`Database`, for code that runs in an event loop.

    Its connections belong to the loop it was opened in. ``execute`` may be called from
    any other thread. Where that loop was closed, :meth:`open` opens it anew in another.
    """

    _pool: AsyncConnectionPool[AsyncConnection[Row]] | None = None
    _made: WeakSet[AsyncConnection[Row]] | None = None  # all that the pool opened
    _loop: asyncio.AbstractEventLoop | None = None
    _parents: AsyncConnectionPool[AsyncConnection[Row]] | None = None
    _inherited: asyncio.Lock | None = None

    def _leave_behind(self) -> None:
        if self._pool is not None:
            self._parents, self._pool, self._loop = self._pool, None, None
            self._made = None  # they are the parent's to close
        elif self._inherited is None:
            return
        self._inherited = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """Whether it was opened, and not closed since."""
        return self._pool is not None

    async def open(self) -> Self:
        """Connect, and return self; does nothing when it is open.

        Raises:
            DatabaseUnavailableError: When nobody answers, or the server refuses us.
        """
        if self._loop is not None and self._loop.is_closed():
            self._drop()
        if self._pool is None:
            self._loop = asyncio.get_running_loop()
            await asyncio.to_thread(self._probe)
            self._made = WeakSet()
            pool: AsyncConnectionPool[AsyncConnection[Row]] = AsyncConnectionPool(
                self._awhere,
                kwargs=self._options,
                min_size=self._min_size,
                max_size=self.max_size,
                timeout=self.timeout,
                reconnect_timeout=self.timeout,
                configure=self._note,
                open=False,
            )
            await pool.open()
            self._pool = pool
            self._inherited = None
            if self.replica is not None:
                await self.replica.aopen(self)
        return self

    async def close(self) -> None:
        """Close every connection; does nothing when it is closed."""
        pool, loop = self._pool, self._loop
        if pool is None or loop is None or not loop.is_running():
            self._drop()
        elif loop is not asyncio.get_running_loop():
            await asyncio.wrap_future(self._submit(self.close))
        else:
            self._pool, self._loop, self._inherited = None, None, None
            await pool.close()
        self._watch.close()
        if self.replica is not None:
            await self.replica.aclose()

    def _drop(self) -> None:
        """Close the connections of an event loop that ended without doing so."""
        self._pool, self._loop, self._inherited = None, None, None
        for connection in list(self._made or ()):
            connection.pgconn.finish()

    async def _note(self, connection: AsyncConnection[Row]) -> None:
        if self._made is not None:
            self._made.add(connection)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def asetup(self) -> None:
        """Create the schema and bring it up to date; safe to call at every start.

        Raises:
            MigrationError: When it cannot be, the schema is then as it was before.
            SchemaTooNewError: When a newer langledger was here.
        """
        if await asyncio.to_thread(self._migrate) and self._pool is not None:
            await self._pool.drain()

    def setup(self) -> None:
        """Run :meth:`asetup` from another thread than the event loop's."""
        self._wait(self.asetup)

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        """Run a batch in one transaction and one round trip; see :meth:`Database.execute`."""
        if self._loop is not None and self._loop is not asyncio.get_running_loop():
            return await asyncio.wrap_future(self._submit(lambda: self.aexecute(batch)))
        steps = self.vaults.steps(batch)
        try:
            step = next(steps)
            while True:
                try:
                    results = await self._execute(step, self._patience(batch))
                except DatabaseError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(results)
        except StopIteration as done:
            return done.value

    async def _execute(self, batch: Batch, seconds: float) -> list[list[Row]]:
        statements = self._statements(batch)
        deadline = time.monotonic() + seconds
        with self._reporting():
            async for attempt in self._attempts(batch, seconds):
                with attempt:
                    tried = await self._try(statements, deadline, seconds)
                    return tried[-len(batch.queries) :]
        raise AssertionError("a retry ends with a result or an error")

    async def _awhere(self) -> str:
        return self._where() if self._revive is None else await asyncio.to_thread(self._where)

    def execute(self, batch: Batch) -> list[list[Row]]:
        """Run a batch from another thread than the event loop's.

        Raises:
            RuntimeError: When called in the event loop, which would then wait for itself.
        """
        return self._wait(lambda: self.aexecute(batch))

    async def _try(
        self, statements: Statements, deadline: float, seconds: float
    ) -> list[list[Row]]:
        pool = await self._opened()
        try:
            while True:
                async with _borrowed(pool, deadline) as connection:
                    if connections.is_alive(connection, deadline):
                        with self._watched(connection, deadline, seconds):
                            return await arun_batch(connection, statements)
        except PoolTimeout as error:
            await asyncio.to_thread(self._explain, error, seconds)
            raise
        except psycopg.errors.PipelineAborted as error:
            raise real_error(error) from None

    async def _opened(self) -> AsyncConnectionPool[AsyncConnection[Row]]:
        inherited = self._inherited
        if inherited is not None:
            async with inherited:
                await self.open()
        if self._pool is None:
            raise DatabaseError(NOT_OPEN)
        return self._pool

    def _wait(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._loop is None and self._inherited is None:
            raise DatabaseError(NOT_OPEN)
        if self._loop is not None and self._loop is _running_loop():
            raise RuntimeError(
                "a blocking call in the event loop would wait for itself: "
                "await the async method (aexecute, ainvoke, ...) instead"
            )
        return self._submit(function).result()

    def _submit(self, function: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        if self._loop is None or not self._loop.is_running():
            raise DatabaseError(
                "the database was opened in an event loop that is not running: "
                "open it in the loop that uses it, or use Database"
            )
        return asyncio.run_coroutine_threadsafe(function(), self._loop)


@asynccontextmanager
async def _borrowed(
    pool: AsyncConnectionPool[AsyncConnection[Row]], deadline: float
) -> AsyncGenerator[AsyncConnection[Row]]:
    """Take a connection from the pool, and give it back whatever happens.

    A task that is cancelled, and again while it gives its connection back, would keep it for ever
    with the pool's own context manager. LangGraph cancels a run's tasks so.
    """
    connection = await pool.getconn(timeout=left(deadline))
    try:
        async with connection:
            yield connection
    finally:
        await asyncio.shield(pool.putconn(connection))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
