"""The methods of a checkpointer, blocking and awaited."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from langledger.arguments import check_tenant, check_whole, spelled
from langledger.checkpoint import copying, listing, maintenance, reading, writing
from langledger.checkpoint.cache import Cache
from langledger.checkpoint.checks import (
    check_checkpoint,
    check_database,
    check_ids,
    check_moment,
    check_serde,
    check_strategy,
)
from langledger.checkpoint.combining import Combining
from langledger.checkpoint.keys import Target
from langledger.checkpoint.listing import Search
from langledger.checkpoint.policy import Policy, Pruned
from langledger.checkpoint.sealing import Sealing
from langledger.checkpoint.secrets import sealing_for
from langledger.checkpoint.versions import next_version
from langledger.database import AsyncDatabase, Database
from langledger.entries import Location
from langledger.errors import ConfigurationError
from langledger.operations import Executor, Operation, arun, run

__all__ = ["CACHE_BYTES", "BaseLedgerSaver"]

T = TypeVar("T")

# What one saver remembers of the threads it works on; see cache.py.
CACHE_BYTES = 128 << 20


class BaseLedgerSaver(BaseCheckpointSaver[Any]):
    """Keeps LangGraph's checkpoints in PostgreSQL, each message once.

    Every method works blocking and awaited. Any number of threads and event loops may share one.

    Args:
        database: An open pool. The awaited methods of a saver on an :class:`AsyncDatabase` wait
            in its event loop, those of one on a :class:`Database` in a worker thread.
        tenant: Whose checkpoints are read and written.
        serde: Serialiser of values. The default, ``JsonPlusSerializer``, leaves messages readable
            for the ledger; one that encrypts (``EncryptedSerializer``) makes them opaque to it.
        cache_bytes: Memory for what is remembered of threads, roughly; 0 for none.

    Raises:
        ConfigurationError: There is no tenant, ``database`` is none of ours, or ``serde`` none.
    """

    def __init__(
        self,
        database: Database | AsyncDatabase,
        *,
        tenant: str = "default",
        serde: SerializerProtocol | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        super().__init__(serde=check_serde(serde))
        self._database = check_database(database)
        self._combining = Combining(database)
        self._tenant = check_tenant(tenant)
        self._cache_bytes = check_whole("cache_bytes", cache_bytes)
        self._cache = Cache(cache_bytes)
        self._opened: tuple[SerializerProtocol, Sealing] | None = None

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint a config points at, without ``checkpoint_id`` the latest."""
        return run(self._get_tuple(config), self._database)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Await :meth:`get_tuple`."""
        return await arun(self._get_tuple(config), self._database)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Iterate over checkpoints, newest first.

        Args:
            config: The thread, and if named its namespace; None for all threads.
            filter: Metadata they must have; of a dict inside, what is named suffices.
            before: Only those older than this one.
            limit: At most so many.
        """
        search = self._search(config, filter=filter, before=before, limit=limit)
        while search is not None:
            page, search = run(self._page(search), self._database)
            yield from page

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Iterate as :meth:`list`."""
        search = self._search(config, filter=filter, before=before, limit=limit)
        while search is not None:
            page, search = await arun(self._page(search), self._database)
            for found in page:
                yield found

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and return the config that points at it.

        Args:
            config: Its thread, namespace and parent.
            checkpoint: What to store.
            metadata: Kept with it; so are the config's metadata and plain configurable values.
            new_versions: The channels that changed since the parent, with their versions.

        Raises:
            SerializationError: A value cannot be stored; nothing is written.
        """
        with self._combining.turn(self._key(config)) as executor:
            return run(self._put(config, checkpoint, metadata, new_versions), executor)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Await :meth:`put`."""
        with self._combining.aturn(self._key(config)) as executor:
            return await arun(self._put(config, checkpoint, metadata, new_versions), executor)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote on the checkpoint a config points at.

        Raises:
            SerializationError: A value cannot be stored; nothing is written.
        """
        with self._combining.turn(self._key(config)) as executor:
            run(self._put_writes(config, writes, task_id, task_path), executor)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Await :meth:`put_writes`."""
        with self._combining.aturn(self._key(config)) as executor:
            await arun(self._put_writes(config, writes, task_id, task_path), executor)

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread, its messages in the ledger included."""
        run(maintenance.delete_thread(self._cache, self._at(thread_id)), self._database)

    async def adelete_thread(self, thread_id: str) -> None:
        """Await :meth:`delete_thread`."""
        await arun(maintenance.delete_thread(self._cache, self._at(thread_id)), self._database)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that runs made, by ``run_id`` in their metadata.

        Those that the delta channels of others are made from are hidden instead.
        """
        run(self._delete_for_runs(run_ids), self._database)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Await :meth:`delete_for_runs`."""
        await arun(self._delete_for_runs(run_ids), self._database)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its history and compactions.

        Raises:
            ConfigurationError: The target thread exists already.
        """
        run(self._copy_thread(source_thread_id, target_thread_id), self._database)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Await :meth:`copy_thread`."""
        await arun(self._copy_thread(source_thread_id, target_thread_id), self._database)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete checkpoints of threads; their messages stay in the ledger.

        Args:
            thread_ids: The threads; unknown ones are passed over.
            strategy: ``keep_latest`` keeps the newest checkpoint of each namespace, and what its
                delta channels are made from; ``delete`` keeps none.

        Raises:
            ConfigurationError: The strategy is unknown, or ``thread_ids`` is a string.
        """
        strategy = check_strategy(strategy)
        for thread_id in check_ids("thread_ids", thread_ids):
            run(self._prune(thread_id, strategy), self._database)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Await :meth:`prune`."""
        strategy = check_strategy(strategy)
        for thread_id in check_ids("thread_ids", thread_ids):
            await arun(self._prune(thread_id, strategy), self._database)

    def retain(self, thread_id: str, policy: Policy, *, dry_run: bool = False) -> Pruned:
        """Delete what a policy does not keep of a thread, and return how much that was."""
        return run(self._retain(thread_id, policy, dry_run=dry_run), self._database)

    async def aretain(self, thread_id: str, policy: Policy, *, dry_run: bool = False) -> Pruned:
        """Await :meth:`retain`."""
        return await arun(self._retain(thread_id, policy, dry_run=dry_run), self._database)

    def idle_threads(self, *, before: datetime) -> Iterator[str]:
        """Iterate over the threads nobody wrote to since ``before``, by id."""
        before, after = check_moment("before", before), ""
        while True:
            found = run(
                maintenance.idle_threads(self._tenant, before=before, after=after), self._database
            )
            yield from found
            if not found:
                return
            after = found[-1]

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what delta channels are put together from, in one round trip."""
        return run(self._history(config, channels), self._database)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Await :meth:`get_delta_channel_history`."""
        return await arun(self._history(config, channels), self._database)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the version after ``current``: a number, or text where the thread has text."""
        del channel
        return next_version(current)

    @property
    def executor(self) -> Executor:
        """Runs the database effects."""
        return self._database

    @property
    def tenant(self) -> str:
        """Whose checkpoints are read and written."""
        return self._tenant

    def apart(self) -> Self:
        """Return a saver on the same database that remembers nothing this one did."""
        clone = copy.copy(self)
        clone._forget()  # noqa: SLF001 - it is one of us
        return clone

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Self:
        """Return a saver that allows these types too, as LangGraph asks for in strict mode."""
        clone = cast("Self", super().with_allowlist(extra_allowlist))
        if clone is not self:
            clone._forget()  # noqa: SLF001 - it is one of us
        return clone

    def _forget(self) -> None:
        # What one serialiser decoded must not be given out by another that would refuse to.
        self._cache = Cache(self._cache_bytes)
        self._opened = None

    def _key(self, config: RunnableConfig) -> UUID:
        return Target.of(self._tenant, config).location.keys["thread_key"]

    def _at(self, thread_id: str) -> Location:
        return Location(self._tenant, spelled("thread_id", thread_id))

    def _sealing(self) -> Operation[Sealing]:
        if self._opened is None or self._opened[0] is not self.serde:
            serde = self.serde
            self._opened = serde, (yield from sealing_for(self._tenant, serde))
        return self._opened[1]

    def _search(self, config: RunnableConfig | None, **which: Any) -> Search | None:
        return Search.of(self._tenant, config, **which)

    def _get_tuple(self, config: RunnableConfig) -> Operation[CheckpointTuple | None]:
        target = Target.of(self._tenant, config)
        sealing = yield from self._sealing()
        return (yield from reading.load(self._cache, sealing, target))

    def _page(self, search: Search) -> Operation[tuple[Sequence[CheckpointTuple], Search | None]]:
        sealing = yield from self._sealing()
        return (yield from listing.page(self._cache, sealing, search))

    def _put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Operation[RunnableConfig]:
        target = Target.of(self._tenant, config)
        check_checkpoint(checkpoint, metadata, new_versions)
        sealing = yield from self._sealing()
        yield from writing.put(
            self._cache,
            sealing,
            target,
            checkpoint=checkpoint,
            metadata=cast("Mapping[str, Any]", get_checkpoint_metadata(config, metadata)),
            new_versions=new_versions,
        )
        return target.at(checkpoint["id"]).config

    def _put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> Operation[None]:
        target = Target.of(self._tenant, config)
        if target.checkpoint_id is None:
            raise ConfigurationError("writes belong to a checkpoint: the config names none")
        sealing = yield from self._sealing()
        yield from writing.put_writes(
            self._cache, sealing, target, writes=writes, task_id=task_id, task_path=task_path
        )

    def _delete_for_runs(self, run_ids: Sequence[str]) -> Operation[Pruned]:
        run_ids = check_ids("run_ids", run_ids)
        sealing = yield from self._sealing()
        return (yield from maintenance.delete_for_runs(self._cache, sealing, self._tenant, run_ids))

    def _copy_thread(self, source: str, target: str) -> Operation[None]:
        encrypts = self._database.encrypts
        yield from copying.copy_thread(self._at(source), self._at(target), encrypts=encrypts)

    def _prune(self, thread_id: str, strategy: str) -> Operation[Pruned]:
        if strategy == "delete":
            return (yield from maintenance.drop_all(self._cache, self._at(thread_id)))
        return (yield from self._retain(thread_id, Policy()))

    def _retain(
        self, thread_id: str, policy: Policy, *, dry_run: bool = False
    ) -> Operation[Pruned]:
        sealing = yield from self._sealing()
        return (
            yield from maintenance.prune(
                self._cache, sealing, self._at(thread_id), policy, dry_run=dry_run
            )
        )

    def _history(
        self, config: RunnableConfig, channels: Sequence[str]
    ) -> Operation[Mapping[str, DeltaChannelHistory]]:
        target = Target.of(self._tenant, config)
        channels = check_ids("channels", channels)
        sealing = yield from self._sealing()
        return (yield from listing.history(self._cache, sealing, target, channels))
