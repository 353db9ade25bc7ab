"""What of memory a ledger hands out, sync and async alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langledger.arguments import check_text, check_whole

if TYPE_CHECKING:  # for those who use them: LangChain's classic package takes long to import
    from langgraph.store.base import IndexConfig, TTLConfig

    from langledger.compaction.host import Host
    from langledger.memory.chat_history import LedgerChatMessageHistory
    from langledger.memory.chat_memory import LedgerChatMemory
    from langledger.memory.memory_node import MemoryNode
    from langledger.memory.retriever import LedgerRetriever
    from langledger.memory.store import LedgerStore
    from langledger.memory.user_facts import UserFacts

__all__ = ["MemoryParts"]


class MemoryParts:
    """The parts of a ledger that are about memory."""

    @property
    def long_term(self: Host) -> UserFacts:
        """What is known of users beyond one thread."""
        from langledger.memory.fact_model import reader_of  # noqa: PLC0415
        from langledger.memory.indexing import Indexing  # noqa: PLC0415
        from langledger.memory.user_facts import UserFacts  # noqa: PLC0415

        indexing = Indexing(clean=self.redactor.text, encrypts=self.encrypts)
        return UserFacts(self.tenant, indexing, reader_of(self.executor))

    def store(
        self: Host,
        *,
        index: IndexConfig | Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
    ) -> LedgerStore:
        """Return a store on the same connections; see :class:`LedgerStore`.

        Args:
            index: How items are embedded: ``dims``, ``embed``, ``fields``, ``distance_type``;
                None: they are found by their words alone.
            ttl: ``default_ttl``, ``refresh_on_read``, ``sweep_interval_minutes``.

        Raises:
            ConfigurationError: One of them is not usable.
        """
        from langledger.memory.store import LedgerStore  # noqa: PLC0415

        clean = self.redactor.text
        return LedgerStore(self.executor, tenant=self.tenant, index=index, ttl=ttl, clean=clean)

    def retriever(
        self: Host,
        *,
        thread_id: str | None = None,
        k: int = 5,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name it has elsewhere
        only_if_sure: bool = False,
    ) -> LedgerRetriever:
        """Return a retriever of what was recorded; see :class:`LedgerRetriever`."""
        from langledger.memory.retriever import LedgerRetriever  # noqa: PLC0415
        from langledger.recall.filters import condition  # noqa: PLC0415

        condition(self.tenant, filter)  # what is wrong is said now, not at the first question
        return LedgerRetriever(
            ledger=self,
            thread_id=None if thread_id is None else check_text("thread_id", thread_id),
            k=check_whole("k", k, least=1),
            filter=None if filter is None else dict(filter),
            only_if_sure=only_if_sure,
        )

    def chat_history(
        self: Host, session_id: str, *, user_id: str | None = None
    ) -> LedgerChatMessageHistory:
        """Return a conversation's messages; see :class:`LedgerChatMessageHistory`."""
        from langledger.memory.chat_history import LedgerChatMessageHistory  # noqa: PLC0415

        return LedgerChatMessageHistory(self, session_id=session_id, user_id=user_id)

    def chat_memory(self: Host, session_id: str, **options: Any) -> LedgerChatMemory:
        """Return a memory for LangChain's chains; see :class:`LedgerChatMemory`.

        Args:
            session_id: The conversation.
            options: ``max_token_limit``, ``memory_key``, ``return_messages``, ...
        """
        from langledger.memory.chat_memory import LedgerChatMemory  # noqa: PLC0415

        return LedgerChatMemory(ledger=self, session_id=session_id, **options)

    def memory_node(
        self: Host,
        *,
        messages_key: str = "messages",
        output_messages_key: str | None = "llm_input_messages",
        user_id: str | None = None,
        recall: bool = True,
        max_recalled_tokens: int = 1500,
    ) -> MemoryNode:
        """Return a node for a ``StateGraph``; see :class:`MemoryNode`."""
        from langledger.memory.memory_node import MemoryNode  # noqa: PLC0415

        return MemoryNode(
            self,
            messages_key=messages_key,
            output_messages_key=output_messages_key,
            user_id=user_id,
            recall=recall,
            max_recalled_tokens=max_recalled_tokens,
        )
