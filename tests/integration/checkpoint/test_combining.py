"""Writes that go together: in order, none waiting for a stranger, none failing for another."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base.id import uuid6

from langledger import entries
from langledger.checkpoint import AsyncLedgerSaver, LedgerSaver
from langledger.database import AsyncDatabase, Database
from langledger.database.connection import connect
from langledger.entries import Location
from langledger.errors import DatabaseError
from langledger.operations import run
from tests.conftest import CITUS


def config(thread: str, checkpoint_id: str | None = None) -> Any:
    found = {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": checkpoint_id}
    return {"configurable": found}


def made(text: str) -> Any:
    return {
        "v": 4,
        "id": str(uuid6()),
        "ts": "2025-11-29T12:00:00.123456+00:00",
        "channel_values": {"messages": [HumanMessage(text, id=text)]},
        "channel_versions": {"messages": 1},
        "versions_seen": {},
        "updated_channels": None,
    }


def put(saver: LedgerSaver, thread: str, text: str = "x") -> Any:
    return saver.put(config(thread), made(text), {"source": "loop"}, {"messages": 1})


def lock(dsn: str, thread: str) -> Any:
    """Hold a thread's row, as a long transaction of another process does."""
    connection = connect(dsn)
    connection.execute("BEGIN")
    key = Location("default", thread).keys["thread_key"]
    connection.execute(
        "SELECT FROM langledger.thread WHERE tenant = 'default' AND thread_key = %s FOR UPDATE",
        [key],
    )
    return connection


@pytest.mark.parametrize("pool_size", [1, 2, 10])
def test_many_writers_lose_nothing(dsn: str, pool_size: int, cold: LedgerSaver) -> None:
    with Database(dsn, max_size=pool_size) as database, ThreadPoolExecutor(24) as pool:
        saver = LedgerSaver(database)
        list(pool.map(lambda n: put(saver, f"thread {n % 40}", f"text {n}"), range(200)))
    for thread in range(40):
        found = list(cold.list(config(f"thread {thread}")))
        texts = {t.checkpoint["channel_values"]["messages"][0].content for t in found}
        assert texts == {f"text {n}" for n in range(thread, 200, 40)}


@pytest.mark.parametrize("pool_size", [1, 2, 10])
def test_locked_conversations_do_not_stop_the_others(
    dsn: str, cold: LedgerSaver, pool_size: int
) -> None:
    locked = range(0, 12, 2)  # more than statements for several may be on their way
    with Database(dsn, max_size=pool_size) as database, ThreadPoolExecutor(12) as pool:
        saver = LedgerSaver(database)
        for thread in range(12):
            put(saver, f"thread {thread}")
        holders = [lock(dsn, f"thread {n}") for n in locked]
        try:
            writes = [pool.submit(put, saver, f"thread {n}", "again") for n in range(12)]
            for n in set(range(12)) - set(locked):
                writes[n].result(timeout=60)
            assert not any(writes[n].done() for n in locked)
        finally:  # else the pool would wait for those writes for ever
            for holder in holders:
                holder.execute("COMMIT")
                holder.close()
        for write in writes:
            write.result(timeout=60)
    for thread in range(12):
        found = list(cold.list(config(f"thread {thread}")))
        texts = {t.checkpoint["channel_values"]["messages"][0].content for t in found}
        assert "again" in texts


async def test_locked_conversations_do_not_stop_other_tasks(
    dsn: str, async_database: AsyncDatabase, cold: LedgerSaver
) -> None:
    saver = AsyncLedgerSaver(async_database)
    arguments = ({"source": "loop"}, {"messages": 1})
    for n in range(12):
        await saver.aput(config(f"thread {n}"), made("x"), *arguments)
    holders = [lock(dsn, f"thread {n}") for n in range(6)]
    try:
        writes = [
            asyncio.create_task(saver.aput(config(f"thread {n}"), made("again"), *arguments))
            for n in range(12)
        ]
        await asyncio.wait_for(asyncio.gather(*writes[6:]), 60)
        assert not any(write.done() for write in writes[:6])
    finally:
        for holder in holders:
            holder.execute("COMMIT")
            holder.close()
    await asyncio.wait_for(asyncio.gather(*writes), 60)
    for n in range(12):
        assert len(list(cold.list(config(f"thread {n}")))) == 2


@pytest.mark.skipif(CITUS is not None, reason="it makes a trigger, which Citus has none of")
def test_an_error_is_its_own_writes_alone(dsn: str) -> None:
    with connect(dsn) as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE 'refused'; END $$;"
            "CREATE TRIGGER refuse BEFORE INSERT ON langledger.thread FOR EACH ROW "
            "WHEN (NEW.thread_id = 'bad') EXECUTE FUNCTION refuse()"
        )
    with Database(dsn, max_size=1) as database, ThreadPoolExecutor(8) as pool:
        saver = LedgerSaver(database)
        put(saver, "warm")
        with database._pool.connection():  # the only one: the first waits, the others gather
            writes = [pool.submit(put, saver, name) for name in ("warm", *"12345")]
            bad = pool.submit(put, saver, "bad")
            wait_until(lambda: len(saver._combining._threads._queue._waiting) >= 6)
        for write in writes:
            write.result(timeout=60)
        with pytest.raises(DatabaseError, match="refused"):
            bad.result(timeout=60)


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    pytest.fail("this did not happen within a minute")


class Noticed(list[Any]):
    """Writes that tell when the call that stores them has begun to read them."""

    def __init__(self, *writes: Any) -> None:
        super().__init__(writes)
        self.seen = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        self.seen.set()
        return super().__iter__()


@pytest.mark.parametrize("is_locked", [False, True])
def test_writes_of_a_thread_keep_the_order_of_their_calls(
    dsn: str, saver: LedgerSaver, database: Database, is_locked: bool
) -> None:
    where = put(saver, "thread", "first")
    holder = lock(dsn, "thread") if is_locked else connect(dsn)
    with ThreadPoolExecutor(20) as pool:
        try:
            calls = []
            for n in range(20):
                writes = Noticed(("messages", HumanMessage(f"message {n}", id=str(n))))
                calls.append(pool.submit(saver.put_writes, where, writes, f"task {n}"))
                assert writes.seen.wait(60)
        finally:
            holder.execute("COMMIT")
            holder.close()
        for call in calls:
            call.result(timeout=60)
    found = run(entries.history(Location("default", "thread")), database)
    assert [e.message.content for e in found] == ["first", *(f"message {n}" for n in range(20))]


async def test_a_cancelled_write_harms_no_other(async_database: AsyncDatabase, cold: Any) -> None:
    saver = AsyncLedgerSaver(async_database)
    arguments = ({"source": "loop"}, {"messages": 1})
    tasks = [
        asyncio.create_task(saver.aput(config(f"thread {n}"), made("x"), *arguments))
        for n in range(30)
    ]
    await asyncio.sleep(0.001)
    for task in tasks[::3]:
        task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    for n, outcome in enumerate(done):
        if not isinstance(outcome, BaseException):
            assert cold.get_tuple(config(f"thread {n}")) is not None
    assert sum(isinstance(outcome, dict) for outcome in done) >= 20
    await saver.aput(config("after"), made("x"), *arguments)
