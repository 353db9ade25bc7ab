"""LangGraph checkpoints that store each message once."""

from __future__ import annotations

from langledger.checkpoint.maintenance import Policy, Pruned
from langledger.checkpoint.saver import AsyncLedgerSaver, LedgerSaver

__all__ = ["AsyncLedgerSaver", "LedgerSaver", "Policy", "Pruned"]
