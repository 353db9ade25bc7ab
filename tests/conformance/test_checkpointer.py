"""LangGraph's official conformance suite, on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.checkpoint.conformance.report import CapabilityReport, ProgressCallbacks

from langledger.checkpoint import AsyncLedgerSaver, LedgerSaver
from langledger.database import AsyncDatabase, Database
from langledger.encryption import KeyRing


async def _report(name: str, saver: BaseCheckpointSaver) -> CapabilityReport:
    @checkpointer_test(name=name)
    async def checkpointer() -> AsyncIterator[BaseCheckpointSaver]:
        yield saver

    return await validate(checkpointer, progress=ProgressCallbacks.quiet())


def _check(report: CapabilityReport) -> None:
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert failures == []
    assert set(report.results) == {capability.value for capability in Capability}
    assert all(result.detected and result.passed for result in report.results.values())
    assert sum(result.tests_passed for result in report.results.values()) >= 81


async def test_async_saver(async_database: AsyncDatabase) -> None:
    _check(await _report("AsyncLedgerSaver", AsyncLedgerSaver(async_database)))


async def test_saver_on_a_blocking_pool(database: Database) -> None:
    _check(await _report("LedgerSaver", LedgerSaver(database)))


async def test_saver_that_remembers_nothing(async_database: AsyncDatabase) -> None:
    saver = AsyncLedgerSaver(async_database, cache_bytes=0)
    _check(await _report("AsyncLedgerSaver, cold", saver))


@pytest.mark.parametrize("pool_size", [1, 3])
async def test_saver_on_a_small_pool(dsn: str, pool_size: int) -> None:
    async with AsyncLedgerSaver.from_conn_string(dsn, pool_size=pool_size) as saver:
        _check(await _report(f"pool of {pool_size}", saver))


async def test_saver_that_encrypts(dsn: str) -> None:
    keys = {"k": KeyRing.new_key()}
    async with AsyncLedgerSaver.from_conn_string(dsn, encryption=keys) as saver:
        _check(await _report("AsyncLedgerSaver, encrypted", saver))
