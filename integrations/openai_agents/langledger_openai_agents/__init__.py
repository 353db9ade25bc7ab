"""The OpenAI Agents SDK: a session whose history is whole and whose model calls are compacted."""

from __future__ import annotations

from langledger_openai_agents.session import LedgerSession

__all__ = ["LedgerSession"]
