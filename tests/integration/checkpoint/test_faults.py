"""What goes wrong around the checkpointer: one clear error, and the thread still reads."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from langledger.checkpoint import AsyncLedgerSaver, LedgerSaver
from langledger.database import Database
from langledger.database.connection import connect
from langledger.errors import (
    ConfigurationError,
    DatabaseUnavailableError,
    MigrationError,
    NotSetUpError,
    SchemaTooNewError,
)

CONFIG: Any = {"configurable": {"thread_id": "thread"}}


def chat(saver: LedgerSaver) -> Any:
    def answer(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    builder = StateGraph(MessagesState).add_node("llm", answer).add_edge(START, "llm")
    return builder.compile(checkpointer=saver)


def test_a_database_that_is_not_set_up_is_told(empty_dsn: str) -> None:
    with LedgerSaver.from_conn_string(empty_dsn) as saver:
        for call in (
            lambda: saver.get_tuple(CONFIG),
            lambda: chat(saver).invoke({"messages": [("user", "hi")]}, CONFIG),
            lambda: list(saver.list(None)),
            lambda: saver.delete_thread("thread"),
        ):
            with pytest.raises(NotSetUpError, match=r"langledger db upgrade.*setup\(\)"):
                call()


def test_a_newer_database_is_told(dsn: str) -> None:
    with connect(dsn) as connection:
        connection.execute(
            "INSERT INTO langledger.migration (version, name, sha256) VALUES (9999, 'later', 'x')"
        )
    with LedgerSaver.from_conn_string(dsn) as saver, pytest.raises(SchemaTooNewError):
        saver.setup()


def test_nobody_there_is_told() -> None:
    with (
        pytest.raises(DatabaseUnavailableError),
        LedgerSaver.from_conn_string("postgresql://127.0.0.1:1/x?connect_timeout=1"),
    ):
        pass


def test_setup_of_eight_at_once_in_a_schema_of_its_own(empty_dsn: str) -> None:
    def setup(_: int) -> None:
        with LedgerSaver.from_conn_string(empty_dsn, schema="mine") as saver:
            saver.setup()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(setup, range(8)))
    with LedgerSaver.from_conn_string(empty_dsn, schema="mine") as saver:
        chat(saver).invoke({"messages": [("user", "hi")]}, CONFIG)
        assert saver.get_tuple(CONFIG) is not None


def test_a_role_that_may_not_create_anything(dsn: str) -> None:
    with connect(dsn) as connection:
        name = connection.info.dbname
        connection.execute(
            "DO $$ BEGIN CREATE ROLE plain_app LOGIN; EXCEPTION WHEN duplicate_object THEN END $$;"
            "GRANT USAGE ON SCHEMA langledger TO plain_app;"
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA langledger TO plain_app"
        )
        connection.execute(f'REVOKE CREATE ON DATABASE "{name}" FROM PUBLIC')  # type: ignore[call-overload]  - a name of ours
    try:
        with LedgerSaver.from_conn_string(_as(dsn, "plain_app")) as saver:
            saver.setup()  # it is up to date: nothing is created
            graph = chat(saver)
            graph.invoke({"messages": [("user", "hi")]}, CONFIG)
            saver.prune(["thread"])
            saver.copy_thread("thread", "copy")
            saver.delete_thread("thread")
            assert saver.get_tuple({"configurable": {"thread_id": "copy"}}) is not None
        with connect(dsn) as connection:
            connection.execute("DELETE FROM langledger.migration WHERE version > 1")
        with (
            LedgerSaver.from_conn_string(_as(dsn, "plain_app")) as saver,
            pytest.raises(MigrationError, match="owner"),
        ):
            saver.setup()
    finally:
        with connect(dsn) as connection:
            connection.execute("DROP OWNED BY plain_app")


def _as(dsn: str, role: str) -> str:
    from psycopg.conninfo import make_conninfo

    return make_conninfo(dsn, user=role)


def kill_connections(dsn: str) -> None:
    with connect(dsn) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_killed_connections_are_not_noticed(dsn: str, saver: LedgerSaver) -> None:
    graph = chat(saver)
    for turn in range(4):
        graph.invoke({"messages": [("user", f"turn {turn}")]}, CONFIG)
        kill_connections(dsn)
    state = graph.get_state(CONFIG)
    assert len(state.values["messages"]) == 8


def test_connections_killed_in_the_middle_of_writes(
    dsn: str, saver: LedgerSaver, cold: Any
) -> None:
    graph = chat(saver)
    stop = threading.Event()
    kills: list[float] = []

    def assassin() -> None:
        while not stop.wait(0.7):
            kill_connections(dsn)
            kills.append(time.monotonic())

    killer = threading.Thread(target=assassin)
    killer.start()
    try:
        turns = 0
        while len(kills) < 4:
            graph.invoke({"messages": [HumanMessage(f"turn {turns}", id=str(turns))]}, CONFIG)
            turns += 1
    finally:
        stop.set()
        killer.join()
    found = list(cold.list(CONFIG))
    assert len(found) == 3 * turns
    messages = found[0].checkpoint["channel_values"]["messages"]
    assert [m.content for m in messages[::2]] == [f"turn {turn}" for turn in range(turns)]
    writes = [w for t in found for w in t.pending_writes or () if w[1] == "messages"]
    assert len(writes) == 2 * turns


@pytest.mark.parametrize("pool_size", [1, 8])
def test_behind_pgbouncer(pooler: Callable[[str], str], pool_size: int) -> None:
    with LedgerSaver.from_conn_string(pooler("transaction"), pool_size=pool_size) as saver:
        saver.setup()
        graph = chat(saver)

        def talk(n: int) -> int:
            config: Any = {"configurable": {"thread_id": f"thread {n}"}}
            for turn in range(6):
                graph.invoke({"messages": [("user", f"turn {turn}")]}, config)
            saver.prune([f"thread {n}"])
            return len(graph.get_state(config).values["messages"])

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(talk, range(8))) == [12] * 8


async def test_async_behind_pgbouncer(pooler: Callable[[str], str]) -> None:
    async with AsyncLedgerSaver.from_conn_string(pooler("transaction")) as saver:
        await saver.setup()
        graph = chat(saver)

        async def talk(n: int) -> int:
            config: Any = {"configurable": {"thread_id": f"thread {n}"}}
            for turn in range(4):
                await graph.ainvoke({"messages": [("user", f"turn {turn}")]}, config)
            return len((await graph.aget_state(config)).values["messages"])

        assert await asyncio.gather(*map(talk, range(8))) == [8] * 8


def test_two_writers_of_one_checkpoint(database: Database, put: Any, cold: LedgerSaver) -> None:
    savers = [LedgerSaver(database) for _ in range(6)]
    config = put({"messages": [HumanMessage("base", id="b")]})
    barrier = threading.Barrier(6)

    def race(n: int) -> None:
        barrier.wait()
        put({"messages": [HumanMessage(f"from {n}", id=str(n))]}, parent=config, by=savers[n])
        savers[n].put_writes(config, [("messages", [f"write {n}"])], "same task")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(race, range(6)))
    found = list(cold.list(CONFIG))
    assert len(found) == 7  # a branch each; the newest is the head
    assert [t.parent_config for t in found[:6]] == [config] * 6
    writes = found[6].pending_writes
    assert writes is not None
    assert len(writes) == 1  # the first one wins, for every reader


def test_reading_goes_on_while_a_thread_is_deleted_again_and_again(database: Database) -> None:
    stop = time.monotonic() + 3
    failures: list[BaseException] = []

    def live(n: int) -> None:
        graph = chat(LedgerSaver(database))
        while time.monotonic() < stop:
            try:
                graph.invoke({"messages": [("user", f"{n} " * 100)]}, CONFIG)
            except BaseException as error:  # noqa: BLE001 - collected
                failures.append(error)

    def delete() -> None:
        saver = LedgerSaver(database)
        while time.monotonic() < stop:
            saver.delete_thread("thread")
            time.sleep(0.05)

    threads = [threading.Thread(target=live, args=(n,)) for n in range(3)]
    threads.append(threading.Thread(target=delete))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    LedgerSaver(database, cache_bytes=0).get_tuple(CONFIG)


@pytest.mark.parametrize("tenant", ["", "nul \x00", "x" * 501, None])
def test_a_saver_needs_a_tenant(tenant: Any, database: Database) -> None:
    with pytest.raises(ConfigurationError, match="tenant"):
        LedgerSaver(database, tenant=tenant)
