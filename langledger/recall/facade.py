"""The ledger's methods that search, blocking and awaited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from langledger.arguments import check_text
from langledger.entries.log import thread_key
from langledger.operations import Executor, arun, run
from langledger.recall.engine import Recall
from langledger.recall.types import Found, Hit, SearchRequest

__all__ = ["AsyncSearches", "Searches"]


class _Host(Protocol):
    @property
    def tenant(self) -> str: ...
    @property
    def executor(self) -> Executor: ...
    @property
    def recalling(self) -> Recall: ...


class Searches:
    """What :class:`Ledger` searches with."""

    def recall(
        self: _Host,
        query: str,
        *,
        thread_id: str | None = None,
        k: int = 5,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the field's name for it
        explain: bool = False,
    ) -> list[Hit]:
        """Return what was recorded about something, best first.

        Args:
            query: A question, a name, an error; anything may stand in it.
            thread_id: The thread to search; None for all of the tenant's.
            k: Most hits.
            offset: Hits to pass over.
            filter: Conditions such as ``{"role": "tool", "path": "login.py"}``; the names are in
                :mod:`langledger.recall.filters`.
            explain: Give each hit its reasons.

        Raises:
            ConfigurationError: A filter is unknown, or an argument not usable.
        """
        request = _request(self.tenant, query, thread_id, k, offset, filter, explain=explain)
        return run(self.recalling.search(request), self.executor).hits

    def search(
        self: _Host,
        query: str,
        *,
        thread_id: str | None = None,
        k: int = 5,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the field's name for it
        explain: bool = False,
    ) -> Found:
        """Return the hits of :meth:`recall` with the gate's verdict on them and the time."""
        request = _request(self.tenant, query, thread_id, k, offset, filter, explain=explain)
        return run(self.recalling.search(request), self.executor)

    def never_recalled(
        self: _Host, thread_id: str, *, limit: int = 100, offset: int = 0
    ) -> list[Hit]:
        """Return what of a thread no search ever returned, oldest first."""
        found = self.recalling.never_recalled(thread_id, limit=limit, offset=offset)
        return run(found, self.executor)

    def flush(self: _Host) -> None:
        """Wait until everything recorded is indexed and embedded.

        Raises:
            EmbeddingError: The embedding model failed; what is indexed is found by words.
        """
        run(self.recalling.flush(), self.executor)


class AsyncSearches:
    """What :class:`AsyncLedger` searches with."""

    async def recall(
        self: _Host,
        query: str,
        *,
        thread_id: str | None = None,
        k: int = 5,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the field's name for it
        explain: bool = False,
    ) -> list[Hit]:
        """Await :meth:`Ledger.recall`."""
        request = _request(self.tenant, query, thread_id, k, offset, filter, explain=explain)
        return (await arun(self.recalling.search(request), self.executor)).hits

    async def search(
        self: _Host,
        query: str,
        *,
        thread_id: str | None = None,
        k: int = 5,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the field's name for it
        explain: bool = False,
    ) -> Found:
        """Await :meth:`Ledger.search`."""
        request = _request(self.tenant, query, thread_id, k, offset, filter, explain=explain)
        return await arun(self.recalling.search(request), self.executor)

    async def never_recalled(
        self: _Host, thread_id: str, *, limit: int = 100, offset: int = 0
    ) -> list[Hit]:
        """Await :meth:`Ledger.never_recalled`."""
        found = self.recalling.never_recalled(thread_id, limit=limit, offset=offset)
        return await arun(found, self.executor)

    async def flush(self: _Host) -> None:
        """Await :meth:`Ledger.flush`."""
        await arun(self.recalling.flush(), self.executor)


def _request(  # noqa: PLR0917 - the methods' own arguments
    tenant: str,
    query: str,
    thread_id: str | None,
    k: int,
    offset: int,
    filters: Mapping[str, Any] | None,
    *,
    explain: bool,
) -> SearchRequest:
    spaces = None if thread_id is None else [thread_key(tenant, check_text("thread_id", thread_id))]
    return SearchRequest(
        query=query, k=k, offset=offset, spaces=spaces, filter=filters, explain=explain
    )
