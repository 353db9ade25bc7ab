"""Puts per second of many conversations on one shared checkpointer, and round trips per call.

    python benchmarks/checkpoint_throughput.py [--dsn DSN] [--conversations 32] [--puts 20]
                                               [--pools 32,4] [--delays 0,5] [--savers ...]

Each conversation runs in its own thread (or task) and puts checkpoints of ten messages one after
the other, two of them new each time, as a graph does. The network delay is that of a proxy
between client and server, which holds every packet for half of it in each direction.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple
from uuid import uuid4

from checkpoint_proxy import Proxy
from checkpoint_workload import Text, machine, new_database, server
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from langledger.checkpoint import AsyncLedgerSaver, LedgerSaver
from langledger.database import AsyncDatabase, Database

METADATA = {"source": "loop", "step": 1, "parents": {}}


def checkpoint(text: Text, conversation: int, number: int) -> dict[str, Any]:
    """The checkpoint that a step leaves: ten messages, the last two new."""
    places = range(2 * number, 2 * number + 10)
    messages = [
        (AIMessage if place % 2 else HumanMessage)(
            text.prose((conversation * 1000 + place) * 300, 300), id=f"{conversation}-{place}"
        )
        for place in places
    ]
    return {
        "v": 4,
        "id": str(uuid6(clock_seq=number)),
        "ts": "2025-11-29T12:00:00.123456+00:00",
        "channel_values": {"messages": messages},
        "channel_versions": {"messages": number + 1, "__start__": number + 1},
        "versions_seen": {"llm": {"messages": number}},
        "updated_channels": ["messages"],
    }


def conversations(many: int, puts: int) -> list[list[dict[str, Any]]]:
    """The checkpoints of some conversations, made before the clock starts."""
    text = Text()
    return [[checkpoint(text, n, step) for step in range(puts)] for n in range(many)]


def start() -> Any:
    return {"configurable": {"thread_id": str(uuid4()), "checkpoint_ns": ""}}


def conversation(saver: Any, made: list[dict[str, Any]]) -> list[float]:
    """Put the checkpoints of one conversation; return the seconds of each."""
    config = start()
    taken = []
    for one in made:
        started = time.perf_counter()
        config = saver.put(config, one, METADATA, one["channel_versions"])
        taken.append(time.perf_counter() - started)
    return taken


async def aconversation(saver: Any, made: list[dict[str, Any]]) -> list[float]:
    config = start()
    taken = []
    for one in made:
        started = time.perf_counter()
        config = await saver.aput(config, one, METADATA, one["channel_versions"])
        taken.append(time.perf_counter() - started)
    return taken


class Run(NamedTuple):
    """Puts per second, processor seconds of the client a put, and seconds of each put."""

    rate: float
    cpu: float
    taken: list[float]


class Clock:
    """Counts wall and processor time from when it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def run(self, found: Iterable[list[float]]) -> Run:
        taken = [seconds for one in found for seconds in one]
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return Run(len(taken) / wall, cpu / len(taken), taken)


def blocking(saver: Any, many: int, puts: int) -> Run:
    """Run conversations in threads."""
    warm, *made = conversations(many + 1, puts)
    conversation(saver, warm[:3])
    with ThreadPoolExecutor(many) as pool:
        barrier = threading.Barrier(many)
        list(pool.map(lambda _: barrier.wait(), range(many)))
        clock = Clock()
        return clock.run(pool.map(lambda one: conversation(saver, one), made))


async def awaited(saver: Any, many: int, puts: int) -> Run:
    """Run conversations in tasks."""
    warm, *made = conversations(many + 1, puts)
    await aconversation(saver, warm[:3])
    clock = Clock()
    return clock.run(await asyncio.gather(*(aconversation(saver, one) for one in made)))


@contextmanager
def postgres(dsn: str, pool: int) -> Iterator[Any]:
    with ConnectionPool(
        dsn, min_size=pool, max_size=pool, kwargs={"autocommit": True, "prepare_threshold": 0}
    ) as connections:
        saver = PostgresSaver(connections)
        saver.setup()
        yield saver


@contextmanager
def ledger(dsn: str, pool: int) -> Iterator[Any]:
    with Database(dsn, min_size=pool, max_size=pool) as database:
        database.setup()
        yield LedgerSaver(database)


def run_blocking(opened: Any) -> Callable[[str, int, int, int], Run]:
    def run(dsn: str, pool: int, conversations: int, puts: int) -> Run:
        with opened(dsn, pool) as saver:
            return blocking(saver, conversations, puts)

    return run


def run_awaited(
    opened: Callable[[str, int, Callable[[Any], Awaitable[Any]]], Awaitable[Any]],
) -> Callable[[str, int, int, int], Run]:
    def run(dsn: str, pool: int, conversations: int, puts: int) -> Run:
        work = opened(dsn, pool, lambda saver: awaited(saver, conversations, puts))
        return asyncio.run(work)  # noqa: TID251 - a benchmark is no library

    return run


async def with_async_postgres(dsn: str, pool: int, work: Any) -> Any:
    options = {"autocommit": True, "prepare_threshold": 0}
    async with AsyncConnectionPool(
        dsn, min_size=pool, max_size=pool, kwargs=options, open=False
    ) as connections:
        saver = AsyncPostgresSaver(connections)
        await saver.setup()
        return await work(saver)


async def with_async_ledger(dsn: str, pool: int, work: Any) -> Any:
    async with AsyncDatabase(dsn, min_size=pool, max_size=pool) as database:
        await database.asetup()
        return await work(AsyncLedgerSaver(database))


SAVERS = {
    "postgres": run_blocking(postgres),
    "ledger": run_blocking(ledger),
    "postgres-async": run_awaited(with_async_postgres),
    "ledger-async": run_awaited(with_async_ledger),
}


def round_trips(dsn: str) -> dict[str, dict[str, float]]:
    """Network round trips of single calls, as the proxy counts them."""
    found: dict[str, dict[str, float]] = {}
    for name, opened in (("postgres", postgres), ("ledger", ledger)):
        with ExitStack() as stack:
            database = stack.enter_context(new_database(dsn))
            proxy = stack.enter_context(Proxy(database, delay=0.0))
            saver = stack.enter_context(opened(proxy.dsn, 2))
            found[name] = _trips(saver, proxy)
    return found


def _trips(saver: Any, proxy: Proxy) -> dict[str, float]:
    thread: Any = {"configurable": {"thread_id": "trips"}}
    config: Any = {"configurable": {"thread_id": "trips", "checkpoint_ns": ""}}
    made = conversations(1, 12)[0]
    for one in made[:6]:
        config = saver.put(config, one, METADATA, one["channel_versions"])
    writes = [("messages", [AIMessage("w" * 300, id="w")])]
    saver.put_writes(config, writes, str(uuid4()), "~__pregel_pull, llm")
    saver.get_tuple(config)
    list(saver.list(thread, limit=10))
    rest = iter(made[6:])

    def put() -> None:
        one = next(rest)
        saver.put(config, one, METADATA, one["channel_versions"])

    calls: dict[str, Callable[[], Any]] = {
        "put": put,
        "put_writes": lambda: saver.put_writes(config, writes, str(uuid4()), "~__pregel_pull, llm"),
        "get_tuple": lambda: saver.get_tuple(config),
        "list(10)": lambda: list(saver.list(thread, limit=10)),
    }
    counted = {}
    for name, call in calls.items():
        before = proxy.trips
        for _ in range(5):
            call()
        time.sleep(0.1)  # the proxy counts in its own time
        counted[name] = (proxy.trips - before) / 5
    return counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn")
    parser.add_argument("--conversations", type=int, default=32)
    parser.add_argument("--puts", type=int, default=20)
    parser.add_argument("--pools", default="32,4")
    parser.add_argument("--delays", default="0,5")
    parser.add_argument("--savers", default=",".join(SAVERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = []
    with server(options.dsn) as dsn:
        print(machine(dsn))
        for delay in map(float, options.delays.split(",")):
            for pool in map(int, options.pools.split(",")):
                results += measured(dsn, options, pool, delay)
        trips = round_trips(dsn)
    print("\nround trips a call")
    for name, calls in trips.items():
        print(f"{name:16}" + "  ".join(f"{call} {n:.2f}" for call, n in calls.items()))
    if options.json:
        options.json.write_text(json.dumps({"puts": results, "round_trips": trips}))


def measured(dsn: str, options: argparse.Namespace, pool: int, delay: float) -> list[Any]:
    """Puts per second of each saver, the best of some rounds taken in turns."""
    best: dict[str, Run] = {}
    for _ in range(options.rounds):
        for name in options.savers.split(","):
            with new_database(dsn) as database, Proxy(database, delay=delay / 1000) as proxy:
                reached = proxy.dsn if delay else database
                found = SAVERS[name](reached, pool, options.conversations, options.puts)
                best[name] = max(best.get(name, found), found)
    print(
        f"\npool {pool}, delay {delay:g} ms: puts per second (p50, p99 ms; ms of the client's "
        "processor a put), times PostgresSaver"
    )
    rows = []
    for name, run in best.items():
        cuts = quantiles(run.taken, n=100)
        base = best.get(name.replace("ledger", "postgres"))
        factor = "" if base in (None, run) else f"  {run.rate / base.rate:.1f}x"
        times = f"{cuts[49] * 1e3:.1f}, {cuts[98] * 1e3:.1f}; {run.cpu * 1e3:.2f}"
        print(f"{name:16}{run.rate:9.0f} ({times}){factor}", flush=True)
        rows.append(
            {"saver": name, "pool": pool, "delay": delay, "rate": run.rate, "p99": cuts[98]}
        )
    return rows


if __name__ == "__main__":
    main()
