"""The checkpointer of an application that LangGraph's server runs, as ``langgraph.json`` names it.

::

    {"checkpointer": {"path": "langledger.checkpoint.langgraph_json.checkpointer"}}

The server enters it once for each of its event loops.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from langledger.checkpoint.saver import AsyncLedgerSaver
from langledger.config import Settings, load_settings
from langledger.database import AsyncDatabase
from langledger.database.embedded import EmbeddedServer
from langledger.database.opening import dsn_of, pooled

__all__ = ["checkpointer"]


@asynccontextmanager
async def checkpointer() -> AsyncGenerator[AsyncLedgerSaver]:
    """Open the database that the ``LANGLEDGER_*`` environment names, and yield a saver on it.

    Its tables are created and brought up to date.

    Raises:
        ConfigurationError: The environment is wrong.
        DatabaseUnavailableError: Nobody answers there.
        MigrationError: The tables cannot be brought up to date.
    """
    settings = load_settings()
    # Starting the embedded server blocks, which the loop of a web server must not.
    database, server = await asyncio.to_thread(_chosen, settings)
    try:
        async with database:
            await database.asetup()
            yield AsyncLedgerSaver(database, tenant=settings.tenant)
    finally:
        if server is not None:
            await asyncio.to_thread(server.stop)


def _chosen(settings: Settings) -> tuple[AsyncDatabase, EmbeddedServer | None]:
    return pooled(
        AsyncDatabase,
        dsn_of(settings),
        settings.data_dir if settings.database_url is None else None,
        schema=settings.db_schema,
        pool_size=settings.pool_size,
    )
