"""Writes that go together: in order, none waiting for a stranger, none failing for another."""

from __future__ import annotations

import asyncio
import threading
import time
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
    connection.execute("SELECT FROM langledger.thread WHERE thread_key = %s FOR UPDATE", [key])
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


def test_a_locked_conversation_costs_no_write(dsn: str, database: Database) -> None:
    saver = LedgerSaver(database)
    for thread in range(12):
        put(saver, f"thread {thread}")
    holder = lock(dsn, "thread 5")
    with ThreadPoolExecutor(12) as pool:
        try:
            writes = [pool.submit(put, saver, f"thread {n}", "again") for n in range(12)]
            time.sleep(0.5)
            assert not writes[5].done()
        finally:  # else the pool would wait for that write for ever
            holder.execute("COMMIT")
            holder.close()
        for write in writes:
            write.result(timeout=60)
    for thread in range(12):
        found = list(LedgerSaver(database).list(config(f"thread {thread}")))
        texts = {t.checkpoint["channel_values"]["messages"][0].content for t in found}
        assert "again" in texts


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
        holder = lock(dsn, "warm")  # so that the others gather behind this one
        writes = [pool.submit(put, saver, "warm", "first")]
        time.sleep(0.2)
        bad = pool.submit(put, saver, "bad")
        writes += [pool.submit(put, saver, f"good {n}") for n in range(5)]
        time.sleep(0.2)
        holder.execute("COMMIT")
        holder.close()
        for write in writes:
            write.result(timeout=10)
        with pytest.raises(DatabaseError, match="refused"):
            bad.result(timeout=10)


def test_writes_of_a_thread_keep_the_order_of_their_calls(
    saver: LedgerSaver, database: Database
) -> None:
    where = put(saver, "thread", "first")
    threads = []
    for n in range(40):
        message = HumanMessage(f"message {n}", id=str(n))
        thread = threading.Thread(
            target=saver.put_writes, args=(where, [("messages", [message])], f"task {n}")
        )
        thread.start()
        threads.append(thread)
        time.sleep(0.001)
    for thread in threads:
        thread.join()
    found = run(entries.history(Location("default", "thread")), database)
    assert [e.message.content for e in found] == ["first", *(f"message {n}" for n in range(40))]


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
