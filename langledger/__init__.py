"""Memory for LangGraph and LangChain agents that survives context compaction."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langledger.checkpoint import AsyncLedgerSaver, LedgerSaver
    from langledger.compaction.insert import insert_compaction
    from langledger.compaction.middleware import LedgerMiddleware
    from langledger.compaction.node import CompactionNode
    from langledger.compaction.records import CompactionReport
    from langledger.entries import Entry, Recorded
    from langledger.errors import LangLedgerError
    from langledger.ledger import AsyncLedger, Ledger
    from langledger.memory.chat_history import LedgerChatMessageHistory
    from langledger.memory.chat_memory import LedgerChatMemory
    from langledger.memory.memory_node import MemoryNode
    from langledger.memory.retriever import LedgerRetriever
    from langledger.memory.store import LedgerStore
    from langledger.repository.memory import RepositoryMemory
    from langledger.state.records import WorkingState

__version__ = "0.1.0"

__all__ = [
    "AsyncLedger",
    "AsyncLedgerSaver",
    "CompactionNode",
    "CompactionReport",
    "Entry",
    "LangLedgerError",
    "Ledger",
    "LedgerChatMemory",
    "LedgerChatMessageHistory",
    "LedgerMiddleware",
    "LedgerRetriever",
    "LedgerSaver",
    "LedgerStore",
    "MemoryNode",
    "Recorded",
    "RepositoryMemory",
    "WorkingState",
    "insert_compaction",
]

# Loaded on first use: importing langledger must not cost what LangGraph costs to import.
_HOMES = {
    "AsyncLedger": "langledger.ledger",
    "AsyncLedgerSaver": "langledger.checkpoint",
    "CompactionNode": "langledger.compaction.node",
    "CompactionReport": "langledger.compaction.records",
    "Entry": "langledger.entries",
    "LangLedgerError": "langledger.errors",
    "Ledger": "langledger.ledger",
    "LedgerChatMemory": "langledger.memory.chat_memory",
    "LedgerChatMessageHistory": "langledger.memory.chat_history",
    "LedgerMiddleware": "langledger.compaction.middleware",
    "LedgerRetriever": "langledger.memory.retriever",
    "LedgerSaver": "langledger.checkpoint",
    "LedgerStore": "langledger.memory.store",
    "MemoryNode": "langledger.memory.memory_node",
    "Recorded": "langledger.entries",
    "RepositoryMemory": "langledger.repository.memory",
    "WorkingState": "langledger.state.records",
    "insert_compaction": "langledger.compaction.insert",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'langledger' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
