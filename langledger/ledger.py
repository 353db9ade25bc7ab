"""The facade: one pool, and every part of langledger on it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from langchain_core.messages import BaseMessage

from langledger.arguments import check_tenant
from langledger.compaction.editing import AsyncEditing, Editing
from langledger.compaction.pinning import AsyncPins, Pins
from langledger.compaction.stating import AsyncStates, States
from langledger.config import Settings, load_settings
from langledger.database import AsyncDatabase, Database
from langledger.database.embedded import EmbeddedServer
from langledger.database.opening import dsn_of, keys_of, pooled, replica_of
from langledger.entries import Recorded
from langledger.entries.facade import AsyncHistories, Histories
from langledger.forget import AsyncForgetting, Forgetting
from langledger.memory.facade import AsyncFacts, Facts
from langledger.operations import Operation, arun, run
from langledger.parts import Parts, Redact, embedder_of, recall_of
from langledger.recall import AsyncSearches, CrossEncoder, Recall, Searches
from langledger.redaction import redactor_of

__all__ = ["AsyncLedger", "Ledger"]

T = TypeVar("T")


class Ledger(Histories, States, Searches, Facts, Pins, Editing, Forgetting, Parts):
    """The history, working state and compactions of agents, in PostgreSQL.

    Its own methods block; the parts it hands out work sync and async. Use it as a context
    manager, or call :meth:`open` and :meth:`close`. Any number of threads may share one.

    Args:
        database: An open or unopened pool; closed with the ledger.
        tenant: Whose rows are read and written.
        server: The embedded server the pool connects to; stopped with the ledger.
        redact: Take secrets out of summaries, working state and index; entries keep them.
            False: leave them; a list: regular expressions of more secrets.
        embeddings: The model of the vectors that recall uses: ``"auto"`` (the local one, where
            installed), ``"local"``, ``"sentence-encoder"``, ``"off"``, or LangChain ``Embeddings``;
            default: what ``LANGLEDGER_EMBEDDINGS`` says.
        reranker: A cross-encoder (LangChain's ``BaseCrossEncoder``) for the best 20 hits.
        recalling: A searcher to share instead of making one.
        setup: Bring the schema up to date when opened. Without it, run
            `langledger db upgrade` once before.
    """

    def __init__(
        self,
        database: Database,
        *,
        tenant: str = "default",
        server: EmbeddedServer | None = None,
        redact: Redact = True,
        embeddings: object = None,
        reranker: CrossEncoder | None = None,
        recalling: Recall | None = None,
        setup: bool = True,
    ) -> None:
        engine = recalling or recall_of(database, tenant, embeddings, redact, reranker)
        super().__init__(database, tenant=tenant, redact=redact, recalling=engine)
        self._owns_recall = recalling is None
        self._database = database
        self._server = server
        self._setup = setup

    @classmethod
    def from_conn_string(
        cls,
        dsn: str | None = None,
        *,
        tenant: str = "default",
        schema: str = "langledger",
        pool_size: int = 10,
        data_dir: str | Path | None = None,
        redact: Redact = True,
        embeddings: object = None,
        reranker: CrossEncoder | None = None,
        require_row_security: bool = False,
        encryption: object = None,
        replica: str | None = None,
        replica_lag: float = 10.0,
        setup: bool = True,
    ) -> Self:
        """Return a ledger on a server, or on the embedded PostgreSQL.

        Args:
            dsn: URL or key=value string, as libpq takes it; default: what
                ``LANGLEDGER_DATABASE_URL`` says, else the embedded server.
            tenant: Whose rows are read and written.
            schema: Holds the tables.
            pool_size: Most connections open at once.
            data_dir: Where the embedded server keeps its data; default: the settings'.
            redact: As the class takes it.
            embeddings: As the class takes them.
            reranker: As the class takes it.
            require_row_security: Refuse a role that `langledger db role` did not make.
            encryption: A ``KeyRing`` for the content; default: the settings', without ``dsn``.
            replica: DSN of a read replica of that server, which searches and histories are read
                from where it has all that is asked about; default: what ``LANGLEDGER_REPLICA``
                says, where ``dsn`` is left out too.
            replica_lag: Most seconds that the replica may be behind; past it the primary answers.
            setup: Bring the schema up to date when opened. A role without DDL rights needs
                none for a schema that is up to date.

        Raises:
            ConfigurationError: An argument is not usable, or both DSN and ``data_dir`` are given.
            MissingDependencyError: No DSN, and the extra ``local`` is not installed.
            EmbeddedPostgresError: The embedded server cannot be started.
        """
        check_tenant(tenant)
        redactor_of(redact)
        embedder = embedder_of(embeddings, encrypted=encryption is not None)
        database, server = pooled(
            Database,
            dsn,
            data_dir,
            schema=schema,
            pool_size=pool_size,
            secured=require_row_security,
            encryption=encryption,
            replica=replica,
            replica_lag=replica_lag,
        )
        return cls(
            database,
            tenant=tenant,
            server=server,
            redact=redact,
            embeddings=embeddings if database.encrypts else embedder or "off",
            reranker=reranker,
            setup=setup,
        )

    @classmethod
    def from_settings(cls, settings: Settings | None = None) -> Self:
        """Return a ledger as the ``LANGLEDGER_*`` environment says."""
        chosen = settings or load_settings()
        ledger = cls.from_conn_string(
            dsn_of(chosen),
            tenant=chosen.tenant,
            schema=chosen.db_schema,
            pool_size=chosen.pool_size,
            data_dir=chosen.data_dir if chosen.database_url is None else None,
            redact=chosen.redact_patterns
            if chosen.redact and chosen.redact_patterns
            else chosen.redact,
            embeddings=chosen.embeddings,
            require_row_security=chosen.require_row_security,
            encryption=keys_of(chosen),
            replica=replica_of(chosen),
            replica_lag=chosen.replica_lag,
        )
        return ledger._as_set(chosen)  # noqa: SLF001 - it is one of us

    @property
    def dsn(self) -> str:
        """The database's connection string."""
        return self._database.dsn

    def open(self) -> Self:
        """Connect and bring the schema up to date; return self."""
        self._database.open()
        if self._setup:
            self._database.setup()
        self._begin_background()
        return self

    def close(self) -> None:
        """Close the connections; stop the embedded server if no one else uses it."""
        self._end_background()
        if self._owns_recall:
            self.recalling.close()
        self._database.close()
        if self._server is not None:
            self._server.stop()

    def __enter__(self) -> Self:
        try:
            return self.open()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def for_tenant(self, tenant: str) -> Ledger:
        """Return a ledger of another tenant on the same connections; it need not be closed.

        Raises:
            ConfigurationError: There is no tenant.
        """
        shared = self.recalling.for_tenant(self._database, check_tenant(tenant))
        ledger = Ledger(
            self._database, tenant=tenant, redact=self.redactor, recalling=shared, setup=False
        )
        return ledger.with_defaults(**self.compaction_defaults)

    def append(
        self,
        messages: Sequence[BaseMessage],
        *,
        thread_id: str,
        from_start: bool = False,
        task_id: str | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Recorded:
        """Record messages; see :func:`langledger.entries.append`."""
        return self._run(
            self._append(
                thread_id,
                messages,
                from_start=from_start,
                task_id=task_id,
                user_id=user_id,
                metadata=metadata,
            )
        )

    def _run(self, operation: Operation[T]) -> T:
        return run(operation, self._database)


class AsyncLedger(
    AsyncHistories,
    AsyncStates,
    AsyncSearches,
    AsyncFacts,
    AsyncPins,
    AsyncEditing,
    AsyncForgetting,
    Parts,
):
    """The same as :class:`Ledger` for code in an event loop: its own methods are awaited.

    Its connections belong to the loop it was opened in. The parts it hands out work there awaited,
    and from other threads blocking. The arguments are those of :class:`Ledger`.
    """

    def __init__(
        self,
        database: AsyncDatabase,
        *,
        tenant: str = "default",
        server: EmbeddedServer | None = None,
        redact: Redact = True,
        embeddings: object = None,
        reranker: CrossEncoder | None = None,
        recalling: Recall | None = None,
        setup: bool = True,
    ) -> None:
        engine = recalling or recall_of(database, tenant, embeddings, redact, reranker)
        super().__init__(database, tenant=tenant, redact=redact, recalling=engine)
        self._owns_recall = recalling is None
        self._database = database
        self._server = server
        self._setup = setup

    @classmethod
    def from_conn_string(
        cls,
        dsn: str | None = None,
        *,
        tenant: str = "default",
        schema: str = "langledger",
        pool_size: int = 10,
        data_dir: str | Path | None = None,
        redact: Redact = True,
        embeddings: object = None,
        reranker: CrossEncoder | None = None,
        require_row_security: bool = False,
        encryption: object = None,
        replica: str | None = None,
        replica_lag: float = 10.0,
        setup: bool = True,
    ) -> Self:
        """Return a ledger on a server, or on the embedded PostgreSQL.

        See :meth:`Ledger.from_conn_string`. Starting the embedded server blocks.
        """
        check_tenant(tenant)
        redactor_of(redact)
        embedder = embedder_of(embeddings, encrypted=encryption is not None)
        database, server = pooled(
            AsyncDatabase,
            dsn,
            data_dir,
            schema=schema,
            pool_size=pool_size,
            secured=require_row_security,
            encryption=encryption,
            replica=replica,
            replica_lag=replica_lag,
        )
        return cls(
            database,
            tenant=tenant,
            server=server,
            redact=redact,
            embeddings=embeddings if database.encrypts else embedder or "off",
            reranker=reranker,
            setup=setup,
        )

    @property
    def dsn(self) -> str:
        """The database's connection string."""
        return self._database.dsn

    async def open(self) -> Self:
        """Connect and bring the schema up to date; return self."""
        await self._database.open()
        if self._setup:
            await self._database.asetup()
        self._begin_background()
        return self

    async def close(self) -> None:
        """Close the connections; stop the embedded server if no one else uses it."""
        await asyncio.to_thread(self._end_background)
        if self._owns_recall:
            await asyncio.to_thread(self.recalling.close)
        await self._database.close()
        if self._server is not None:
            await asyncio.to_thread(self._server.stop)

    async def __aenter__(self) -> Self:
        try:
            return await self.open()
        except BaseException:
            await self.close()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def for_tenant(self, tenant: str) -> AsyncLedger:
        """Return a ledger of another tenant on the same connections; it need not be closed.

        Raises:
            ConfigurationError: There is no tenant.
        """
        shared = self.recalling.for_tenant(self._database, check_tenant(tenant))
        ledger = AsyncLedger(
            self._database, tenant=tenant, redact=self.redactor, recalling=shared, setup=False
        )
        return ledger.with_defaults(**self.compaction_defaults)

    async def append(
        self,
        messages: Sequence[BaseMessage],
        *,
        thread_id: str,
        from_start: bool = False,
        task_id: str | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Recorded:
        """Record messages; see :func:`langledger.entries.append`."""
        return await self._run(
            self._append(
                thread_id,
                messages,
                from_start=from_start,
                task_id=task_id,
                user_id=user_id,
                metadata=metadata,
            )
        )

    async def _run(self, operation: Operation[T]) -> T:
        return await arun(operation, self._database)
