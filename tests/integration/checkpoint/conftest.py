"""What the checkpointer's tests share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.base.id import uuid6

from langledger.checkpoint import LedgerSaver
from langledger.database import Database
from langledger.operations import Batch, Query


@pytest.fixture
def saver(database: Database) -> LedgerSaver:
    """A checkpointer on a fresh database."""
    return LedgerSaver(database)


@pytest.fixture
def cold(database: Database) -> LedgerSaver:
    """Another one on the same database, as of another process: it remembers nothing."""
    return LedgerSaver(database, cache_bytes=0)


@pytest.fixture
def rows(database: Database) -> Callable[..., list[dict[str, Any]]]:
    """Run a statement and return its rows."""

    def run(sql: Any, **params: Any) -> list[dict[str, Any]]:
        return database.execute(Batch([Query(sql, params)]))[0]

    return run


@pytest.fixture
def put(saver: LedgerSaver) -> Callable[..., Any]:
    """Put a checkpoint that holds these channels; return its config."""

    def store(
        values: dict[str, Any],
        *,
        thread: str = "thread",
        parent: Any = None,
        metadata: dict[str, Any] | None = None,
        namespace: str = "",
        by: LedgerSaver | None = None,
        version: int = 1,
    ) -> Any:
        config = parent or {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
        versions = dict.fromkeys(values, version)
        checkpoint = {
            "v": 4,
            "id": str(uuid6()),
            "ts": "2025-11-29T12:00:00.123456+00:00",
            "channel_values": values,
            "channel_versions": versions,
            "versions_seen": {},
            "updated_channels": list(values),
        }
        return (by or saver).put(config, checkpoint, metadata or {"source": "loop"}, versions)

    return store
