"""Behind PgBouncer, whose clients share the sessions of the server."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from langledger.database import AsyncDatabase, Database
from langledger.database.connection import connect
from langledger.database.doctor import pooling
from langledger.errors import DatabaseUnavailableError
from langledger.operations import Batch, Query

Pooler = Callable[[str], str]


def test_eight_threads_share_two_sessions_without_a_mistake(pooler: Pooler) -> None:
    with Database(pooler("transaction"), max_size=8) as database:
        database.setup()
        insert = (
            "INSERT INTO {schema}.summary_cache (tenant, digest, summary) "
            "VALUES (%(tenant)s, %(digest)s, 'x') ON CONFLICT DO NOTHING"
        )
        count = "SELECT count(*) AS n FROM {schema}.summary_cache WHERE tenant = %(tenant)s"

        def work(thread: int) -> None:
            tenant = {"tenant": f"t{thread}"}
            for n in range(40):
                write = Query(insert, {**tenant, "digest": bytes([n])})
                rows = database.execute(Batch([write, Query(count, tenant)]))
                assert rows == [[], [{"n": n + 1}]]
                assert database.execute(Batch([Query(count, tenant)])) == [[{"n": n + 1}]]

        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(work, range(8))) == [None] * 8


def test_who_finds_no_session_free_is_told_what_to_raise(pooler: Pooler) -> None:
    dsn = pooler("transaction")
    # Once it has waited, it does not try again; who is to be served waits as long as it takes.
    hasty, patient = Database(dsn, timeout=1), Database(dsn)
    with hasty, patient, connect(dsn) as first, connect(dsn) as second:
        for holder in (first, second):
            holder.execute("BEGIN")
        with pytest.raises(DatabaseUnavailableError, match="raise its default_pool_size"):
            hasty.execute(Batch([Query("SELECT 1 AS n")]))
        first.execute("COMMIT")
        assert patient.execute(Batch([Query("SELECT 1 AS n")])) == [[{"n": 1}]]


async def test_the_async_pool_works_there_too(pooler: Pooler) -> None:
    async with AsyncDatabase(pooler("transaction")) as database:
        await database.asetup()
        for _ in range(10):
            rows = await database.aexecute(Batch([Query("SELECT 1 AS n"), Query("SELECT 2 AS n")]))
            assert rows == [[{"n": 1}], [{"n": 2}]]


def test_two_schemas_do_not_meet_in_one_session(pooler: Pooler) -> None:
    dsn = pooler("transaction")
    with Database(dsn, schema="one") as one, Database(dsn, schema="two") as two:
        for database in (one, two):
            database.setup()
        one.execute(
            Batch(
                [Query("INSERT INTO {schema}.summary_cache VALUES ('t', '\\x00', 'only in one')")]
            )
        )
        count = Batch([Query("SELECT count(*)::int AS n FROM {schema}.summary_cache")])
        for _ in range(10):
            assert one.execute(count) == [[{"n": 1}]]
            assert two.execute(count) == [[{"n": 0}]]


def test_what_stands_in_between_is_recognised(pooler: Pooler, empty_dsn: str) -> None:
    assert pooling(empty_dsn) == "none"
    assert pooling(pooler("session")) == "session"
    assert pooling(pooler("transaction")) == "transaction"
    with connect(empty_dsn) as connection:
        connection.execute("SELECT 1")
