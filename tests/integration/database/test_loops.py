"""One ledger in one event loop after the other, and one that is opened again."""

from __future__ import annotations

import asyncio
import gc
from functools import partial
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import HumanMessage

from langledger import AsyncLedger, Ledger
from langledger.database.connection import connect
from langledger.errors import DatabaseError
from tests.support.stoppable import until

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def sessions(dsn: str) -> int:
    with connect(dsn) as connection:
        rows = connection.execute(
            "SELECT FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return rows.rowcount


async def write(ledger: AsyncLedger) -> None:
    for n in range(4):
        texts = [HumanMessage(f"{n}") for _ in range(3)]
        await asyncio.gather(*(ledger.append([text], thread_id="t") for text in texts))


def test_one_ledger_is_opened_in_loop_after_loop(dsn: str) -> None:
    ledger = AsyncLedger.from_conn_string(dsn, embeddings="off")

    async def work(*, close: bool) -> int:
        await ledger.open()
        await write(ledger)
        count = await ledger.count("t")
        if close:
            await ledger.close()
        return count

    counts = [asyncio.run(work(close=number % 2 == 0)) for number in range(6)]
    assert counts == [12 * number for number in range(1, 7)]
    with pytest.raises(DatabaseError, match="event loop that is not running"):
        asyncio.run(ledger.count("t"))  # not opened in this one
    asyncio.run(ledger.close())
    gc.collect()
    until(lambda: sessions(dsn) == 0)


def test_a_loop_closes_what_another_one_opened(dsn: str) -> None:
    ledger = AsyncLedger.from_conn_string(dsn, embeddings="off")

    async def elsewhere() -> None:
        await ledger.open()
        await write(ledger)
        await asyncio.to_thread(asyncio.run, ledger.close())
        await ledger.open()
        assert await ledger.count("t") == 12
        await ledger.close()

    asyncio.run(elsewhere())
    until(lambda: sessions(dsn) == 0)


def test_parts_of_a_blocking_ledger_are_awaited_in_any_loop(dsn: str) -> None:
    with Ledger.from_conn_string(dsn, embeddings="off") as ledger:
        history = ledger.chat_history("t")
        for number in range(4):
            asyncio.run(history.aadd_messages([HumanMessage(str(number))]))
            assert asyncio.run(ledger.checkpointer().aget_tuple(CONFIG)) is None
        assert [entry.message.text for entry in ledger.history("t")] == ["0", "1", "2", "3"]


def test_what_works_in_the_background_goes_on_after_opening_again(dsn: str) -> None:
    ledger = Ledger.from_conn_string(dsn, embeddings=DeterministicFakeEmbedding(size=8))
    keeper = ledger.keeper
    for number in range(2):
        with ledger:
            ledger.append([HumanMessage(f"the parser of dates {number}")], thread_id="t")
            done: list[int] = []
            keeper.notice("key", partial(iter_of, done))
            keeper.flush()
            assert done == [1]
            ledger.recall("parser", thread_id="t")
            ledger.with_memory(embedding_delay=0.01)
            ledger.recalling.notice(space(ledger))
            until(partial(has_vectors, dsn, number + 1))
    keeper.notice("key", partial(iter_of, []))  # a closed one takes nothing
    assert keeper._thread is None


def iter_of(done: list[int]) -> Any:
    done.append(1)
    yield from ()


def space(ledger: Ledger) -> Any:
    from langledger.entries.log import thread_key

    return thread_key(ledger.tenant, "t")


def has_vectors(dsn: str, count: int) -> bool:
    with connect(dsn) as connection:
        return connection.execute("SELECT FROM langledger.recall_vector").rowcount == count
