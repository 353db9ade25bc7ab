"""LangGraph checkpoints that store each message once."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from langledger.checkpoint.policy import Policy, Pruned
from langledger.checkpoint.saver import AsyncLedgerSaver, LedgerSaver

__all__ = ["AsyncLedgerSaver", "LedgerSaver", "Policy", "Pruned"]


def _checkpointer() -> AbstractAsyncContextManager[AsyncLedgerSaver]:
    from langledger.checkpoint.langgraph_json import checkpointer  # noqa: PLC0415 - for who asks

    return checkpointer()


# LangGraph documents "package.module:name" for langgraph.json, and its server (0.16) looks up what
# follows the last dot.
globals()["langgraph_json:checkpointer"] = _checkpointer
