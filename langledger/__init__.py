"""Memory for LangGraph and LangChain agents that survives context compaction."""

from __future__ import annotations

__version__ = "0.1.0"
