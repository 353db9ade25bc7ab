"""The checkpointers as users open them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Self

from langgraph.checkpoint.serde.base import SerializerProtocol

from langledger.checkpoint.base import BaseLedgerSaver
from langledger.database import AsyncDatabase, Database
from langledger.encryption import key_ring

__all__ = ["AsyncLedgerSaver", "LedgerSaver"]


class LedgerSaver(BaseLedgerSaver):
    """Keeps LangGraph's checkpoints in PostgreSQL, each message once.

    Every method works blocking and awaited, on either kind of pool; any number of threads and
    event loops may share one saver::

        with LedgerSaver.from_conn_string("postgresql://...") as checkpointer:
            checkpointer.setup()
            graph = builder.compile(checkpointer=checkpointer)

    Args:
        database: An open pool. The awaited methods of a saver on an :class:`AsyncDatabase` wait
            in its event loop, those of one on a :class:`Database` in a worker thread.
        tenant: Whose checkpoints are read and written.
        serde: Serialiser of values. The default, ``JsonPlusSerializer``, leaves messages readable
            for the ledger; one that encrypts (``EncryptedSerializer``) makes them opaque to it.
        cache_bytes: Memory for what is remembered of threads, roughly; 0 for none.
    """

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        tenant: str = "default",
        schema: str = "langledger",
        pool_size: int = 10,
        serde: SerializerProtocol | None = None,
        encryption: object = None,
    ) -> Generator[Self]:
        """Open a pool and yield a saver on it; call :meth:`setup` before first use.

        Args:
            conn_string: URL or key=value string, as libpq takes it.
            tenant: Whose checkpoints are read and written.
            schema: Holds the tables.
            pool_size: Most connections open at once.
            serde: Serialiser of values.
            encryption: A ``KeyRing`` for the content, as :class:`~langledger.Ledger` takes it.

        Raises:
            DatabaseUnavailableError: Nobody answers there.
        """
        keys = key_ring(encryption)
        with Database(conn_string, schema=schema, max_size=pool_size, encryption=keys) as database:
            yield cls(database, tenant=tenant, serde=serde)

    def setup(self) -> None:
        """Create the tables and bring them up to date; safe to call at every start.

        Raises:
            MigrationError: They cannot be; the schema is as it was before.
        """
        self._database.setup()

    async def asetup(self) -> None:
        """Await :meth:`setup`."""
        await self._database.asetup()


class AsyncLedgerSaver(BaseLedgerSaver):
    """A :class:`LedgerSaver` whose own pool belongs to an event loop.

    ::

        async with AsyncLedgerSaver.from_conn_string("postgresql://...") as checkpointer:
            await checkpointer.setup()
            graph = builder.compile(checkpointer=checkpointer)

    Its blocking methods work too, from any thread but the event loop's.
    """

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls,
        conn_string: str,
        *,
        tenant: str = "default",
        schema: str = "langledger",
        pool_size: int = 10,
        serde: SerializerProtocol | None = None,
        encryption: object = None,
    ) -> AsyncGenerator[Self]:
        """Open a pool and yield a saver on it; see :meth:`LedgerSaver.from_conn_string`."""
        keys = key_ring(encryption)
        async with AsyncDatabase(
            conn_string, schema=schema, max_size=pool_size, encryption=keys
        ) as database:
            yield cls(database, tenant=tenant, serde=serde)

    async def setup(self) -> None:
        """Create the tables and bring them up to date; see :meth:`LedgerSaver.setup`."""
        await self._database.asetup()
