"""What was recorded, as documents of a LangChain retriever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from langledger.arguments import check_whole
from langledger.compaction.host import Host
from langledger.entries.log import thread_key
from langledger.operations import Operation, arun, run
from langledger.recall import Hit, SearchRequest

__all__ = ["LedgerRetriever"]


class LedgerRetriever(BaseRetriever):
    """Retrieves pieces of what was recorded, best first; sync and async.

    Each document's ``metadata`` has ``entry_id``, ``thread_id``, ``role``, ``score``,
    ``scores``, ``created_at`` and what is known of the piece, such as its ``path``.

    Args:
        ledger: Where the history is.
        thread_id: The thread to search; None: all of the tenant's.
        k: Most documents; may be given with the call too.
        filter: Conditions as ``ledger.recall`` takes them; may be given with the call too.
        only_if_sure: Give nothing where the gate is not sure that something bears on the query.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    ledger: Any = Field(exclude=True, repr=False)
    thread_id: str | None = None
    k: int = Field(default=5, ge=1)
    filter: dict[str, Any] | None = None
    only_if_sure: bool = False

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - the signature upstream
        k: int | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name it has elsewhere
    ) -> list[Document]:
        host: Host = self.ledger
        return run(self._search(host, query, k, filter), host.executor)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - the signature upstream
        k: int | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name it has elsewhere
    ) -> list[Document]:
        host: Host = self.ledger
        return await arun(self._search(host, query, k, filter), host.executor)

    def _search(
        self, host: Host, query: str, k: int | None, wanted: Mapping[str, Any] | None
    ) -> Operation[list[Document]]:
        spaces = None if self.thread_id is None else [thread_key(host.tenant, self.thread_id)]
        request = SearchRequest(
            query=query,
            k=check_whole("k", self.k if k is None else k, least=1),
            spaces=spaces,
            filter=self.filter if wanted is None else wanted,
        )
        found = yield from host.recalling.search(request)
        if self.only_if_sure and not found.gate.inject:
            return []
        return [_document(hit, self.thread_id) for hit in found.hits]


def _document(hit: Hit, thread_id: str | None) -> Document:
    thread = hit.thread_id or thread_id or ""
    return Document(
        page_content=hit.text,
        id=f"{thread}#{hit.entry_id}.{hit.part}",
        metadata={
            **hit.metadata,
            "entry_id": hit.entry_id,
            "thread_id": thread,
            "role": hit.role,
            "score": hit.score,
            "scores": dict(hit.scores),
            "created_at": hit.created_at.isoformat(),
        },
    )
