"""Many conversations at once: throughput, latency, memory and sessions, beside PostgresSaver.

    python benchmarks/load.py [--dsn DSN] [--conversations 32,256] [--pools 4,32] [--turns 6]
        [--rounds 3] [--systems postgres,ledger] [--pooled] [--json FILE]

Each conversation is a task that does one turn after the other (see load_workload.py) on one shared
checkpointer and one shared store. The systems take turns, --rounds times, each in a database of its
own; the figures are of all rounds together, as what else the machine does changes from one to the
next. Processor time, of the client and of the server's sessions, depends least on that. With
--pooled they reach the server through PgBouncer in transaction mode, with as many sessions as the
pool has connections.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from checkpoint_workload import _on_processor, _sessions, machine, new_database, server
from load_workload import SYSTEMS, Conversation, System, percentiles, pgbouncer, rss, watching
from psycopg.conninfo import conninfo_to_dict


async def talk(system: System, number: int, turns: int) -> list[float]:
    conversation = Conversation(number)
    return [await conversation.turn(system) for _ in range(turns)]


async def measure(name: str, dsn: str, reached: str, options: Any) -> dict[str, Any]:
    """Run all conversations on one system; return its figures."""
    async with SYSTEMS[name](reached, options.pool) as system:
        await talk(system, 10**6, 2)  # what a first call alone pays
        before, processor = rss(), time.process_time()
        served = on_processor(dsn)
        async with watching(dsn) as watch:
            started = time.perf_counter()
            runs = await asyncio.gather(
                *(talk(system, number, options.turns) for number in range(options.many))
            )
            wall = time.perf_counter() - started
            served = on_processor(dsn) - served
    return {
        "taken": [seconds for run in runs for seconds in run],
        "wall": wall,
        "client_cpu": time.process_time() - processor,
        "server_cpu": served,
        "client_mb": watch.rss / 1e6,
        "grown_mb": (watch.rss - before) / 1e6,
        "sessions": watch.sessions,
    }


def on_processor(dsn: str) -> float:
    """Processor seconds of the sessions that are open now."""
    return sum(map(_on_processor, _sessions(str(conninfo_to_dict(dsn)["dbname"]))))


def cell(server_dsn: str, options: Any) -> list[dict[str, Any]]:
    names = options.systems.split(",")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for _ in range(options.rounds):
        for name in names:
            with ExitStack() as stack:
                dsn = reached = stack.enter_context(new_database(server_dsn))
                if options.pooled:
                    reached = stack.enter_context(pgbouncer(dsn, options.pool))
                run = asyncio.run(measure(name, dsn, reached, options))  # noqa: TID251
                found[name].append(run)
    return [together(name, rounds, options) for name, rounds in found.items()]


def together(name: str, rounds: list[dict[str, Any]], options: Any) -> dict[str, Any]:
    """Return the figures of all rounds of a system."""
    taken = [seconds for run in rounds for seconds in run["taken"]]
    p50, p95, p99 = percentiles(taken)
    return {
        "system": name,
        "conversations": options.many,
        "pool": options.pool,
        "pooled": options.pooled,
        "turns_per_second": len(taken) / sum(run["wall"] for run in rounds),
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "client_cpu_ms": sum(run["client_cpu"] for run in rounds) / len(taken) * 1e3,
        "server_cpu_ms": sum(run["server_cpu"] for run in rounds) / len(taken) * 1e3,
        "client_mb": max(run["client_mb"] for run in rounds),
        "grown_mb": max(run["grown_mb"] for run in rounds),
        "sessions": max(run["sessions"] for run in rounds),
    }


def show(rows: list[dict[str, Any]]) -> None:
    base = rows[0]["turns_per_second"]
    for row in rows:
        print(
            f"{row['conversations']:>5} {row['pool']:>5} {'yes' if row['pooled'] else 'no':>7} "
            f"{row['system']:>9} {row['turns_per_second']:>8.1f} "
            f"{row['turns_per_second'] / base:>6.2f}x {row['p50_ms']:>8.0f} {row['p95_ms']:>8.0f} "
            f"{row['p99_ms']:>8.0f} {row['client_cpu_ms']:>8.1f} {row['server_cpu_ms']:>8.1f} "
            f"{row['client_mb']:>7.0f} "
            f"{row['grown_mb']:>+7.0f} {row['sessions']:>5}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn")
    parser.add_argument("--conversations", default="32,256")
    parser.add_argument("--pools", default="4,32")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--systems", default="postgres,ledger")
    parser.add_argument("--pooled", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with server(options.dsn) as dsn:
        print(machine(dsn))
        print(
            "conv.  pool  pooler    system  turns/s  times   p50 ms   p95 ms   p99 ms   cpu ms"
            "  server      MB  grown  sess."
        )
        for many in map(int, options.conversations.split(",")):
            for pool in map(int, options.pools.split(",")):
                options.many, options.pool = many, pool
                rows += (found := cell(dsn, options))
                show(found)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
