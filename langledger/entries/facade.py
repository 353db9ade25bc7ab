"""The ledger's methods that read the history, blocking and awaited."""

from __future__ import annotations

from typing import Protocol

from langledger.database.replica import Replica
from langledger.entries.log import Entry, Location
from langledger.entries.reading import count, history, threads
from langledger.operations import Executor, Row, arun, run

__all__ = ["AsyncHistories", "Histories"]


class _Host(Protocol):
    @property
    def tenant(self) -> str: ...
    @property
    def executor(self) -> Executor: ...
    @property
    def replica(self) -> Replica | None: ...


class Histories:
    """What :class:`Ledger` tells of what was recorded."""

    def history(
        self: _Host, thread_id: str, *, after: int = 0, until: int | None = None
    ) -> list[Entry]:
        """Return a thread's entries, oldest first."""
        location = Location(self.tenant, thread_id)
        found = history(location, after=after, until=until, replica=self.replica)
        return run(found, self.executor)

    def count(self: _Host, thread_id: str) -> int:
        """Return how many entries a thread has."""
        return run(count(Location(self.tenant, thread_id)), self.executor)

    def threads(self: _Host, *, limit: int = 100, offset: int = 0) -> list[Row]:
        """Return the tenant's threads, latest first, with their counts."""
        found = threads(self.tenant, limit=limit, offset=offset, replica=self.replica)
        return run(found, self.executor)


class AsyncHistories:
    """What :class:`AsyncLedger` tells of what was recorded."""

    async def history(
        self: _Host, thread_id: str, *, after: int = 0, until: int | None = None
    ) -> list[Entry]:
        """Await :meth:`Ledger.history`."""
        location = Location(self.tenant, thread_id)
        found = history(location, after=after, until=until, replica=self.replica)
        return await arun(found, self.executor)

    async def count(self: _Host, thread_id: str) -> int:
        """Await :meth:`Ledger.count`."""
        return await arun(count(Location(self.tenant, thread_id)), self.executor)

    async def threads(self: _Host, *, limit: int = 100, offset: int = 0) -> list[Row]:
        """Await :meth:`Ledger.threads`."""
        found = threads(self.tenant, limit=limit, offset=offset, replica=self.replica)
        return await arun(found, self.executor)
