"""A server that accepts what it is sent and never answers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from langledger.database import AsyncDatabase, Database
from langledger.database.connection import connect
from langledger.errors import DatabaseUnavailableError
from langledger.operations import Batch, Query
from tests.support.silent import Silent
from tests.support.waiting import wait_until

ONE = Query("SELECT 1 AS n")
SILENT = r"has not answered|cannot be reached"


@pytest.fixture
def line(empty_dsn: str) -> Iterator[Silent]:
    with Silent(empty_dsn) as proxy:
        yield proxy


def impatient(*queries: Query) -> Batch:
    return Batch(queries, patience=0.4)


@pytest.mark.parametrize("queries", [[ONE], [ONE, ONE]], ids=["statement", "pipeline"])
async def test_a_statement_is_given_up(line: Silent, queries: list[Query]) -> None:
    with Database(line.dsn, max_size=2) as database:
        async with AsyncDatabase(line.dsn, max_size=2) as twin:
            database.execute(Batch(queries))
            await twin.aexecute(Batch(queries))
            line.silent.set()
            with pytest.raises(DatabaseUnavailableError, match=SILENT):
                database.execute(impatient(*queries))
            with pytest.raises(DatabaseUnavailableError, match=SILENT):
                await twin.aexecute(impatient(*queries))


def test_patience_without_end_is_that_of_the_pool(line: Silent) -> None:
    with Database(line.dsn, max_size=1, timeout=2.0) as database:
        database.execute(Batch([ONE]))
        line.silent.set()
        with pytest.raises(DatabaseUnavailableError, match=SILENT):
            database.execute(Batch([ONE]))


def test_silent_connections_do_not_stay_in_the_pool(line: Silent) -> None:
    with Database(line.dsn, max_size=1) as database:
        database.execute(Batch([ONE]))
        line.silent.set()
        for _ in range(2):  # the second finds the pool without a connection
            with pytest.raises(DatabaseUnavailableError, match=SILENT):
                database.execute(impatient(ONE))
        line.silent.clear()
        assert database.execute(Batch([ONE])) == [[{"n": 1}]]


def test_what_takes_long_is_waited_for(empty_dsn: str, line: Silent) -> None:
    slow = Batch([Query("SELECT 1 AS n FROM pg_advisory_xact_lock(7)")], patience=4.0)
    with Database(line.dsn) as database, connect(empty_dsn) as holder, ThreadPoolExecutor() as pool:
        holder.execute("SELECT pg_advisory_lock(7)")
        database.execute(Batch([ONE]))
        before = line.calls
        waiting = pool.submit(database.execute, slow)
        # Asked for a sign of life again: it is past its time, and the first sign was heard.
        wait_until(lambda: waiting.done() or line.calls >= before + 2)
        holder.execute("SELECT pg_advisory_unlock(7)")
        assert waiting.result() == [[{"n": 1}]]
