"""LangGraph's server: checkpointer, store and middleware, as ``langgraph.json`` names them.

::

    {
      "checkpointer": {"path": "langledger_langgraph_platform.checkpointer"},
      "store": {"path": "langledger_langgraph_platform.store"}
    }

Each takes its database from the ``LANGLEDGER_*`` environment. The graph itself is compiled without
checkpointer and store; its agent takes :func:`ledger_middleware`.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from langledger import Ledger, LedgerMiddleware, LedgerStore
from langledger.checkpoint.langgraph_json import checkpointer

__all__ = ["checkpointer", "ledger", "ledger_middleware", "store"]


@cache
def ledger() -> Ledger:
    """Return the process's ledger, open until the process ends.

    The server imports graphs in a thread and runs them in loops of its own: a ledger that blocks
    in worker threads serves all of them.

    Raises:
        LangLedgerError: The environment is wrong, or nobody answers there.
    """
    opened = Ledger.from_settings().open()
    atexit.register(opened.close)
    return opened


def ledger_middleware(**options: Any) -> LedgerMiddleware:
    """Return middleware on the process's ledger; ``options`` are those of ``ledger.middleware``."""
    return ledger().middleware(**options)


@asynccontextmanager
async def store() -> AsyncGenerator[LedgerStore]:
    """Yield a store on the process's ledger."""
    opened = await asyncio.to_thread(ledger)
    yield opened.store()
