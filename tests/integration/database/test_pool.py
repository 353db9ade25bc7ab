"""Batches against a real server, and what becomes of them when it goes away."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pgvector import HalfVector
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier
from psycopg_pool import PoolTimeout

from langledger.database import AsyncDatabase, Database
from langledger.database.connection import connect
from langledger.database.embedded import EmbeddedServer
from langledger.errors import DatabaseError, DatabaseUnavailableError, NotSetUpError
from langledger.operations import Batch, Query, Row
from tests.support.waiting import wait_until

INSERT = Query(
    "INSERT INTO {schema}.summary_cache (tenant, digest, summary) VALUES ('t', %(digest)s, 's') "
    "RETURNING digest",
    {"digest": b"\0\xff"},
)
COUNT = Query("SELECT count(*) AS n FROM {schema}.summary_cache")


def count(database: Database) -> int:
    return database.execute(Batch([COUNT]))[0][0]["n"]


def one(sql: str, **params: object) -> Batch:
    return Batch([Query(sql, params)])


@contextmanager
def at_a_gate(dsn: str) -> Iterator[tuple[Batch, Callable[[int], None]]]:
    """Give a batch that waits until this ends, and what returns once so many of it wait."""
    locks = "SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with connect(dsn) as holder:

        def wait_for(calls: int) -> None:
            wait_until(lambda: holder.execute(locks).fetchone()["n"] >= calls)

        holder.execute("SELECT pg_advisory_lock(7)")
        yield one("SELECT pg_advisory_xact_lock_shared(7)"), wait_for


async def both(database: Database, batch: Batch, *, awaited: bool) -> list[list[Row]]:
    """Run a batch in each of the two ways."""
    if not awaited:
        return database.execute(batch)
    async with AsyncDatabase(database.dsn) as twin:
        return await twin.aexecute(batch)


awaited = pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])


@awaited
async def test_each_statement_sees_the_one_before_and_returns_its_rows(
    database: Database, awaited: bool
) -> None:
    batch = Batch([INSERT, COUNT, Query("DELETE FROM {schema}.summary_cache"), COUNT])
    assert await both(database, batch, awaited=awaited) == [
        [{"digest": b"\0\xff"}],
        [{"n": 1}],
        [],
        [{"n": 0}],
    ]


@awaited
async def test_a_batch_that_fails_writes_nothing_and_names_the_failure(
    database: Database, awaited: bool
) -> None:
    for broken in (Query("SELECT 1/0"), Query("SELECT %(missing)s")):
        with pytest.raises(DatabaseError, match=r"division by zero|missing"):
            await both(database, Batch([INSERT, broken, COUNT]), awaited=awaited)
    assert count(database) == 0


def test_the_connection_is_good_after_a_failure(database: Database) -> None:
    for _ in range(30):
        with pytest.raises(DatabaseError):
            database.execute(Batch([INSERT, Query("SELECT 1/0"), COUNT]))
        assert count(database) == 0
    assert database.execute(Batch([])) == []


@awaited
async def test_without_the_schema_the_error_says_how_to_make_it(
    empty_dsn: str, awaited: bool
) -> None:
    with (
        Database(empty_dsn) as database,
        pytest.raises(NotSetUpError, match="run `langledger db upgrade`"),
    ):
        await both(database, Batch([COUNT]), awaited=awaited)


def test_two_schemas_in_one_database_are_apart(database: Database) -> None:
    with Database(database.dsn, schema="Other_1") as other:
        other.setup()
        other.execute(Batch([INSERT]))
        assert count(other) == 1
        assert count(database) == 0


def test_composed_statements_get_the_schema_too(database: Database) -> None:
    statement = SQL("SELECT count(*) AS n FROM {{schema}}.{} WHERE summary <> {}").format(
        Identifier("summary_cache"), "{schema}"
    )
    assert database.execute(Batch([Query(statement)])) == [[{"n": 0}]]


def test_large_and_binary_values_come_back_equal(database: Database) -> None:
    body = bytes(range(256)) * 40_000  # 10 MB
    rows = database.execute(
        one("SELECT %(body)s::bytea AS body, %(t)s::text AS t", body=body, t="é")
    )
    assert rows == [[{"body": body, "t": "é"}]]


@awaited
async def test_vectors_are_known_from_the_setup_on(empty_dsn: str, awaited: bool) -> None:
    vector = one("SELECT %(v)s::halfvec AS v", v=HalfVector([1, 2, 3]))
    with Database(empty_dsn) as database:
        database.execute(one("SELECT 1"))  # a connection from before the extension
        database.setup()
        found = await both(database, vector, awaited=awaited)
    assert found == [[{"v": HalfVector([1, 2, 3])}]]


def test_a_pool_that_is_not_open_says_so(dsn: str) -> None:
    database = Database(dsn)
    with pytest.raises(DatabaseError, match="not open"):
        database.execute(Batch([COUNT]))
    with database:
        assert count(database) == 0
    with pytest.raises(DatabaseError, match="not open"):
        database.execute(Batch([COUNT]))
    with database:
        assert count(database) == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"port": "1", "host": "127.0.0.1"}, "check the DSN and that the server is up .*refused"),
        ({"dbname": "missing"}, "the server is up, .*does not exist; create the database"),
        ({"user": "nobody_here"}, "the server is up, but refuses"),
    ],
)
def test_a_wrong_dsn_is_found_at_once(dsn: str, change: dict[str, str], said: str) -> None:
    begun = time.monotonic()
    with pytest.raises(DatabaseUnavailableError, match=said):
        Database(make_conninfo(dsn, **change), timeout=600).open()
    assert time.monotonic() - begun < 300  # it did not wait for its timeout


def test_a_busy_pool_is_told_from_a_missing_server(dsn: str) -> None:
    with Database(dsn, max_size=1, timeout=0.5) as database, ThreadPoolExecutor() as threads:
        with at_a_gate(dsn) as (pass_it, wait_for):
            passing = threads.submit(database.execute, pass_it)
            wait_for(1)
            with pytest.raises(DatabaseUnavailableError, match="all 1 connections were busy"):
                database.execute(Batch([COUNT]))
        passing.result()


def test_a_server_that_was_away_is_told_from_a_busy_pool(database: Database) -> None:
    with pytest.raises(DatabaseUnavailableError, match=r"did not take a connection for 0\.5 s"):
        database._explain(PoolTimeout("none came back in time"), 0.5)


def test_writers_that_deadlock_both_succeed(database: Database) -> None:
    database.execute(
        one("CREATE TABLE {schema}.pair AS SELECT n, 0 AS v FROM generate_series(1,2) n")
    )
    update = "UPDATE {schema}.pair SET v = v + 1 WHERE n = %(n)s"

    def write(first: int, second: int) -> None:
        sleep = Query("SELECT pg_sleep(0.3)")
        queries = [Query(update, {"n": first}), sleep, Query(update, {"n": second})]
        database.execute(Batch(queries, repeatable=False))

    with ThreadPoolExecutor() as threads:
        for future in [threads.submit(write, 1, 2), threads.submit(write, 2, 1)]:
            future.result()
    assert database.execute(one("SELECT sum(v) AS v FROM {schema}.pair")) == [[{"v": 4}]]


def test_many_threads_share_a_small_pool(dsn: str) -> None:
    with Database(dsn, max_size=3) as database, ThreadPoolExecutor(16) as threads:
        batches = [one("SELECT %(n)s::int AS n", n=n) for n in range(200)]
        assert [rows[0][0]["n"] for rows in threads.map(database.execute, batches)] == [*range(200)]


async def test_async_calls_run_beside_each_other(async_database: AsyncDatabase) -> None:
    with at_a_gate(async_database.dsn) as (pass_it, wait_for):
        calls = [asyncio.create_task(async_database.aexecute(pass_it)) for _ in range(5)]
        await asyncio.to_thread(wait_for, 5)
    await asyncio.gather(*calls)


async def test_an_async_pool_serves_other_threads_and_loops(async_database: AsyncDatabase) -> None:
    expected = [[{"n": 0}]]
    assert await asyncio.to_thread(async_database.execute, Batch([COUNT])) == expected

    def elsewhere() -> list[list[Row]]:
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(async_database.aexecute(Batch([COUNT])))
        finally:
            loop.close()

    assert await asyncio.to_thread(elsewhere) == expected


async def test_an_async_pool_that_is_not_open_says_so(dsn: str) -> None:
    database = AsyncDatabase(dsn)
    for _ in range(2):
        with pytest.raises(DatabaseError, match="not open"):
            await database.aexecute(Batch([COUNT]))
        with pytest.raises(DatabaseError, match="not open"):
            await asyncio.to_thread(database.execute, Batch([COUNT]))
        async with database:
            assert await database.aexecute(Batch([COUNT])) == [[{"n": 0}]]


async def test_a_blocking_call_in_the_loop_is_refused(async_database: AsyncDatabase) -> None:
    with pytest.raises(RuntimeError, match="await the async method"):
        async_database.execute(Batch([COUNT]))


def test_an_async_pool_whose_loop_has_ended_says_so(dsn: str) -> None:
    loop = asyncio.new_event_loop()
    database = AsyncDatabase(dsn)
    loop.run_until_complete(database.open())
    with pytest.raises(DatabaseError, match="event loop that is not running"):
        database.execute(Batch([COUNT]))
    loop.run_until_complete(database.close())
    loop.close()


async def test_a_call_cancelled_at_any_step_leaves_the_connection_usable(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psycopg.waiting.MAX_BUSY_TIME", 0)  # it yields wherever it may
    async with AsyncDatabase(dsn, max_size=1) as database:
        for steps in range(1000):
            call = asyncio.create_task(database.aexecute(Batch([COUNT, COUNT])))
            for _ in range(steps):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            for _ in range(2):
                assert await database.aexecute(Batch([COUNT])) == [[{"n": 0}]]
            if not call.cancelled():
                break
        assert steps > 3


async def test_a_cancelled_call_leaves_the_pool_usable(dsn: str) -> None:
    async with AsyncDatabase(dsn, max_size=1) as database:
        sleeping = asyncio.create_task(
            database.aexecute(Batch([INSERT, Query("SELECT pg_sleep(20)")]))
        )
        await asyncio.sleep(0.3)
        sleeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeping
        assert await database.aexecute(Batch([COUNT])) == [[{"n": 0}]]


class Restarts:
    """A server of a test's own, that it may stop, kill and start."""

    def __init__(self, folder: Path) -> None:
        self.server = EmbeddedServer(folder / "data", settings={"fsync": "off"})
        self.dsn = self.server.start()

    def restart(self) -> None:
        self.server.stop()
        self.server.start()


@pytest.fixture
def restarts(open_folder: Path) -> Iterator[Restarts]:
    made = Restarts(open_folder)
    Database(made.dsn).setup()
    yield made
    made.server.stop()


@pytest.mark.parametrize("repeatable", [True, False])
def test_a_restart_of_the_server_goes_unnoticed(restarts: Restarts, repeatable: bool) -> None:
    """Also by a batch that may not run twice: a dead connection is seen before it is used."""
    with Database(restarts.dsn) as database, ThreadPoolExecutor(4) as threads:
        list(threads.map(database.execute, [one("SELECT pg_sleep(0.2)")] * 4))
        restarts.restart()
        for n in range(4):
            insert = Query(INSERT.sql, {"digest": bytes([n])})
            database.execute(Batch([insert, COUNT], repeatable=repeatable))
        assert count(database) == 4


@awaited
async def test_a_call_during_a_restart_waits_for_the_server(
    restarts: Restarts, awaited: bool
) -> None:
    with Database(restarts.dsn) as database:
        assert count(database) == 0
        restarts.server.stop()
        starting = threading.Timer(1.0, restarts.server.start)
        starting.start()
        if awaited:
            assert await database.aexecute(Batch([COUNT])) == [[{"n": 0}]]
        else:
            assert count(database) == 0
        starting.join()


def test_a_server_that_stays_away_is_reported_after_the_timeout(restarts: Restarts) -> None:
    with Database(restarts.dsn, timeout=1.0) as database:
        assert count(database) == 0
        restarts.server.stop()
        with pytest.raises(DatabaseUnavailableError, match=r"cannot be reached.*No such file"):
            database.execute(Batch([COUNT]))


def test_the_reason_for_an_outage_is_given_where_it_is_known(restarts: Restarts) -> None:
    with Database(restarts.dsn, timeout=0.5, trouble=lambda: "the disk is full") as database:
        restarts.server.stop()
        with pytest.raises(DatabaseUnavailableError, match=r"^the disk is full \(.*No such file"):
            database.execute(Batch([COUNT]))


KILL = Query("SELECT pg_terminate_backend(pg_backend_pid())")


@awaited
async def test_a_batch_cut_off_is_sent_again_only_if_it_may_be(dsn: str, awaited: bool) -> None:
    """The sequence counts the tries: it does not roll back."""
    with connect(dsn) as connection:
        connection.execute("CREATE SEQUENCE tries")

    def tries() -> int:
        with connect(dsn) as connection:
            return connection.execute("SELECT nextval('tries') - 1 AS n").fetchone()["n"]

    batch = [Query("SELECT nextval('tries')"), KILL]
    async with AsyncDatabase(dsn, timeout=2.0) as twin:
        with Database(dsn, timeout=2.0) as database:

            async def attempt(*, repeatable: bool) -> None:
                cut_off = pytest.raises(DatabaseUnavailableError, match=r"terminat|closed")
                if awaited:
                    with cut_off:
                        await twin.aexecute(Batch(batch, repeatable=repeatable))
                else:
                    with cut_off:
                        database.execute(Batch(batch, repeatable=repeatable))

            await attempt(repeatable=False)
            assert tries() == 1
            await attempt(repeatable=True)
            assert tries() > 3


def test_a_read_only_server_is_named(dsn: str) -> None:
    readonly = make_conninfo(dsn, options="-c default_transaction_read_only=on")
    with Database(readonly) as database:
        with pytest.raises(DatabaseError, match="read-only: point the DSN at the primary"):
            database.execute(Batch([INSERT, COUNT]))
        assert count(database) == 0


@awaited
async def test_connections_that_died_while_idle_are_passed_over(dsn: str, awaited: bool) -> None:
    """Also by what must not be sent twice, and however many they are."""

    def kill_all() -> None:
        with connect(dsn) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    batch = Batch([Query("SELECT 1 AS n")], repeatable=False)
    async with AsyncDatabase(dsn, min_size=6) as twin:
        with Database(dsn, min_size=6) as database:
            await twin._pool.wait(60)
            database._pool.wait(60)
            for _ in range(3):
                kill_all()
                for _ in range(6):
                    rows = await twin.aexecute(batch) if awaited else database.execute(batch)
                    assert rows == [[{"n": 1}]]
