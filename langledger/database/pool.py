"""The pool of connections that runs batches, blocking and awaited.

A batch is one round trip: its statements go out in one pipeline, in one
transaction. Nothing depends on session state, so PgBouncer in transaction mode may
stand in between.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias, TypeVar

import psycopg
import stamina
from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor
from psycopg.adapt import AdaptersMap
from psycopg.sql import Composed
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from langledger.database import connection as connections
from langledger.database.failures import is_lost, is_rolled_back, real_error, translated
from langledger.database.migrate import migrate
from langledger.database.queries import Renderer
from langledger.errors import ConfigurationError, DatabaseError, DatabaseUnavailableError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Batch, Row

__all__ = ["AsyncDatabase", "Database"]

T = TypeVar("T")
_Statements: TypeAlias = list[tuple[bytes | Composed, Any]]


class _Base:
    """What the blocking and the awaited pool have in common."""

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "langledger",
        min_size: int = 0,
        max_size: int = 10,
        timeout: float = 30.0,
        trouble: Callable[[], str | None] | None = None,
    ) -> None:
        if not 0 <= min_size <= max_size or max_size < 1 or timeout <= 0:
            raise ConfigurationError(
                "a pool needs 0 <= min_size <= max_size, max_size >= 1 and timeout > 0 seconds"
            )
        self.dsn = dsn
        self.schema = schema
        self.timeout = timeout
        self.max_size = max_size
        self._min_size = min_size
        self._trouble = trouble
        self._conninfo = connections.conninfo(dsn)
        self._renderer = Renderer(schema)
        self._adapters: AdaptersMap | None = None

    def __repr__(self) -> str:
        where = connections.address(self.dsn)
        return f"<{type(self).__name__} {where} schema={self.schema!r}>"

    def _statements(self, batch: Batch) -> _Statements:
        return [(self._renderer.render(query.sql), query.params) for query in batch.queries]

    def _options(self) -> dict[str, Any]:
        return connections.options(self._adapters)

    def _retrying(self, on: Callable[[Exception], bool]) -> Any:
        return stamina.retry_context(
            on=on,
            attempts=None,
            timeout=self.timeout,
            wait_initial=0.05,
            wait_max=2.0,
            wait_jitter=0.1,
        )

    def _attempts(self, batch: Batch) -> Any:
        """Iterate over the tries of a batch.

        A batch that must not run twice is not sent twice: it is tried again only where
        nothing was sent, or the server undid everything.
        """
        return self._retrying(
            lambda error: (
                isinstance(error, connections.StaleConnectionError)
                or is_rolled_back(error)
                or (batch.repeatable and is_lost(error))
            )
        )

    @contextmanager
    def _reporting(self) -> Generator[None]:
        """Raise psycopg's errors as ours, with the reason for an outage where it is known."""
        try:
            with translated():
                yield
        except DatabaseUnavailableError as error:
            reason = self._trouble() if self._trouble is not None else None
            if reason is None:
                raise
            raise DatabaseUnavailableError(f"{reason} ({error})") from error

    def _probe(self) -> None:
        """Connect once: a wrong DSN is found now, and so are the types of this database."""
        for attempt in self._retrying(self._is_starting):
            with attempt:
                self._adapters = connections.load_adapters(self.dsn)

    def _is_starting(self, error: Exception) -> bool:
        return isinstance(error, DatabaseUnavailableError) and connections.is_starting(self.dsn)

    def _migrate(self) -> bool:
        applied = migrate(self.dsn, schema=self.schema)
        if applied:
            self._probe()  # the extension may be new, and with it its types
        return bool(applied)

    def _explain(self, error: PoolTimeout) -> NoReturn:
        """Say why no connection could be had: the pool knows only that it waited."""
        try:
            connections.connect(self.dsn).close()
        except DatabaseError as cause:
            raise cause from error
        raise DatabaseUnavailableError(
            f"all {self.max_size} connections were busy for {self.timeout:g} s: raise max_size "
            "(LANGLEDGER_POOL_SIZE), or find what holds them"
        ) from error


class Database(_Base):
    """A pool of connections to one schema of one database; blocking.

    Args:
        dsn: URL or key=value string, as libpq takes it.
        schema: Holds the tables. Letters, digits and ``_``.
        min_size: Connections kept open while idle.
        max_size: Connections open at once; who finds none waits.
        timeout: Seconds to wait for a connection, and to go on retrying.
        trouble: Asked for a reason when the server is gone; ``EmbeddedServer.trouble``.

    Raises:
        ConfigurationError: When an argument is out of range or the DSN is not readable.
    """

    _pool: ConnectionPool[Connection[Row]] | None = None

    def open(self) -> Self:
        """Connect, and return self; does nothing when it is open.

        Raises:
            DatabaseUnavailableError: When nobody answers, or the server refuses us.
        """
        if self._pool is None:
            self._probe()
            self._pool = ConnectionPool(
                self._conninfo,
                kwargs=self._options,
                min_size=self._min_size,
                max_size=self.max_size,
                timeout=self.timeout,
                reconnect_timeout=self.timeout,
                open=True,
            )
        return self

    def close(self) -> None:
        """Close every connection; does nothing when it is closed."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

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
        """
        statements = self._statements(batch)
        deadline = time.monotonic() + self.timeout
        with self._reporting():
            for attempt in self._attempts(batch):
                with attempt:
                    return self._try(statements, deadline)
        raise AssertionError("a retry ends with a result or an error")

    async def aexecute(self, batch: Batch) -> list[list[Row]]:
        """Run :meth:`execute` in a worker thread."""
        return await asyncio.to_thread(self.execute, batch)

    def _try(self, statements: _Statements, deadline: float) -> list[list[Row]]:
        if self._pool is None:
            raise DatabaseError(_NOT_OPEN)
        try:
            with self._pool.connection(timeout=_left(deadline)) as connection:
                connections.check_alive(connection)
                return _run(connection, statements)
        except connections.StaleConnectionError:
            self._pool.check()  # where one is dead, its neighbours mostly are
            raise
        except PoolTimeout as error:
            self._explain(error)
        except psycopg.errors.PipelineAborted as error:
            raise real_error(error) from None


class AsyncDatabase(_Base):
    """The same as :class:`Database`, for code that runs in an event loop.

    Its connections belong to the loop it was opened in. ``execute`` may be called from
    any other thread.
    """

    _pool: AsyncConnectionPool[AsyncConnection[Row]] | None = None
    _loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> Self:
        """Connect, and return self; does nothing when it is open.

        Raises:
            DatabaseUnavailableError: When nobody answers, or the server refuses us.
        """
        if self._pool is None:
            self._loop = asyncio.get_running_loop()
            await asyncio.to_thread(self._probe)
            pool: AsyncConnectionPool[AsyncConnection[Row]] = AsyncConnectionPool(
                self._conninfo,
                kwargs=self._options,
                min_size=self._min_size,
                max_size=self.max_size,
                timeout=self.timeout,
                reconnect_timeout=self.timeout,
                open=False,
            )
            await pool.open()
            self._pool = pool
        return self

    async def close(self) -> None:
        """Close every connection; does nothing when it is closed."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

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
        statements = self._statements(batch)
        deadline = time.monotonic() + self.timeout
        with self._reporting():
            async for attempt in self._attempts(batch):
                with attempt:
                    return await self._try(statements, deadline)
        raise AssertionError("a retry ends with a result or an error")

    def execute(self, batch: Batch) -> list[list[Row]]:
        """Run a batch from another thread than the event loop's.

        Raises:
            RuntimeError: When called in the event loop, which would then wait for itself.
        """
        return self._wait(lambda: self.aexecute(batch))

    async def _try(self, statements: _Statements, deadline: float) -> list[list[Row]]:
        if self._pool is None:
            raise DatabaseError(_NOT_OPEN)
        try:
            async with self._pool.connection(timeout=_left(deadline)) as connection:
                connections.check_alive(connection)
                return await _arun(connection, statements)
        except connections.StaleConnectionError:
            await self._pool.check()
            raise
        except PoolTimeout as error:
            await asyncio.to_thread(self._explain, error)
            raise
        except psycopg.errors.PipelineAborted as error:
            raise real_error(error) from None

    def _wait(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._loop is _running_loop():
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


_NOT_OPEN = "the database is not open: use it in a with statement, or call open() first"


def _left(deadline: float) -> float:
    return max(0.05, deadline - time.monotonic())


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


# The transaction is explicit, though a pipeline is one by itself: an error of ours between
# two statements must not commit those that were already sent. Rows travel in binary, which
# halves a bytea.


def _run(connection: Connection[Row], statements: _Statements) -> list[list[Row]]:
    if len(statements) == 1:
        return [_rows(connection.execute(*statements[0], binary=True))]
    with connection.pipeline():
        connection.execute("BEGIN")
        cursors = [connection.execute(*statement, binary=True) for statement in statements]
        connection.execute("COMMIT")
    return [_rows(cursor) for cursor in cursors]


def _rows(cursor: Cursor[Row]) -> list[Row]:
    return cursor.fetchall() if cursor.description else []


async def _arun(connection: AsyncConnection[Row], statements: _Statements) -> list[list[Row]]:
    if len(statements) == 1:
        return [await _arows(await connection.execute(*statements[0], binary=True))]
    async with connection.pipeline():
        await connection.execute("BEGIN")
        cursors = [await connection.execute(*statement, binary=True) for statement in statements]
        await connection.execute("COMMIT")
    return [await _arows(cursor) for cursor in cursors]


async def _arows(cursor: AsyncCursor[Row]) -> list[Row]:
    return await cursor.fetchall() if cursor.description else []
