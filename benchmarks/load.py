"""Many conversations at once: throughput, latency, memory and sessions, beside PostgresSaver.

    python benchmarks/load.py [--dsn DSN] [--conversations 32,256] [--pools 4,32] [--turns 6]
                              [--systems postgres,ledger] [--pooled] [--tenants 1] [--json FILE]

Each conversation is a task that does one turn after the other (see load_workload.py) on one shared
checkpointer and one shared store. The systems take turns, each in a database of its own. With
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

from checkpoint_workload import machine, new_database, server
from load_workload import SYSTEMS, Conversation, System, percentiles, pgbouncer, rss, watching


async def talk(system: System, number: int, turns: int) -> list[float]:
    conversation = Conversation(number)
    return [await conversation.turn(system) for _ in range(turns)]


async def measure(name: str, dsn: str, reached: str, options: Any) -> dict[str, Any]:
    """Run all conversations on one system; return its figures."""
    async with SYSTEMS[name](reached, options.pool) as system:
        await talk(system, 10**6, 2)  # what a first call alone pays
        before, processor = rss(), time.process_time()
        async with watching(dsn) as watch:
            started = time.perf_counter()
            runs = await asyncio.gather(
                *(talk(system, number, options.turns) for number in range(options.many))
            )
            wall = time.perf_counter() - started
    taken = [seconds for run in runs for seconds in run]
    p50, p95, p99 = percentiles(taken)
    return {
        "system": name,
        "conversations": options.many,
        "pool": options.pool,
        "pooled": options.pooled,
        "turns_per_second": len(taken) / wall,
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "client_cpu_ms": (time.process_time() - processor) / len(taken) * 1e3,
        "client_mb": watch.rss / 1e6,
        "grown_mb": (watch.rss - before) / 1e6,
        "sessions": watch.sessions,
    }


def cell(server_dsn: str, options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in options.systems.split(","):
        with ExitStack() as stack:
            dsn = stack.enter_context(new_database(server_dsn))
            reached = stack.enter_context(pgbouncer(dsn, options.pool)) if options.pooled else dsn
            found.append(asyncio.run(measure(name, dsn, reached, options)))  # noqa: TID251
    return found


def show(rows: list[dict[str, Any]]) -> None:
    base = rows[0]["turns_per_second"]
    for row in rows:
        print(
            f"{row['conversations']:>5} {row['pool']:>5} {'yes' if row['pooled'] else 'no':>7} "
            f"{row['system']:>9} {row['turns_per_second']:>8.1f} "
            f"{row['turns_per_second'] / base:>6.2f}x {row['p50_ms']:>8.0f} {row['p95_ms']:>8.0f} "
            f"{row['p99_ms']:>8.0f} {row['client_cpu_ms']:>8.1f} {row['client_mb']:>7.0f} "
            f"{row['grown_mb']:>+7.0f} {row['sessions']:>5}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn")
    parser.add_argument("--conversations", default="32,256")
    parser.add_argument("--pools", default="4,32")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--systems", default="postgres,ledger")
    parser.add_argument("--pooled", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with server(options.dsn) as dsn:
        print(machine(dsn))
        print(
            "conv.  pool  pooler    system  turns/s  times   p50 ms   p95 ms   p99 ms   cpu ms"
            "      MB  grown  sess."
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
