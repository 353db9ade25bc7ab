"""Whether anything grows that should not: threads come and go for as long as asked.

    python benchmarks/soak.py [--dsn DSN] [--seconds 300] [--conversations 32] [--pool 8]
                              [--turns 20] [--kept 100] [--system ledger]

So many conversations go on at any time, each on a thread that ends after --turns turns; of those
that ended the newest --kept stay, the others are deleted. A day of a service with 32 people who
take a turn a minute is 46,080 turns; what was reached is said as hours of it. Each slice of time
is a line: memory, sessions and the database should stay flat once as many threads ended as are
kept.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import time
from collections import deque
from pathlib import Path
from typing import Any

from checkpoint_workload import machine, new_database, server
from load_workload import SYSTEMS, Conversation, System, percentiles, rss

from langledger.database.connection import connect

SLICES = 10
TURNS_AN_HOUR = 32 * 60


class Soak:
    """Conversations that go on until the time is over."""

    def __init__(self, system: System, options: argparse.Namespace) -> None:
        self._system = system
        self._options = options
        self._numbers = itertools.count()
        self._ended: deque[str] = deque()
        self._until = time.monotonic() + options.seconds
        self.taken: list[float] = []
        self.turns = 0

    async def talk(self) -> None:
        while time.monotonic() < self._until:
            # Users come back: their items in the store are replaced, and do not grow without end.
            conversation = Conversation(next(self._numbers) % 500)
            for _ in range(self._options.turns):
                if time.monotonic() >= self._until:
                    return
                self.taken.append(await conversation.turn(self._system))
                self.turns += 1
            self._ended.append(conversation.thread_id)
            if len(self._ended) > self._options.kept:
                await self._system.saver.adelete_thread(self._ended.popleft())

    async def run(self, dsn: str) -> list[dict[str, Any]]:
        tasks = [asyncio.create_task(self.talk()) for _ in range(self._options.conversations)]
        found: list[dict[str, Any]] = []
        length = self._options.seconds / SLICES
        for slice_number in range(SLICES):
            await asyncio.sleep(length)
            taken, self.taken = self.taken, []
            found.append(self.slice(dsn, slice_number, taken, length))
            show(found[-1])
        await asyncio.gather(*tasks)
        return found

    def slice(self, dsn: str, number: int, taken: list[float], length: float) -> dict[str, Any]:
        p50, _, p99 = percentiles(taken) if len(taken) > 1 else (0.0, 0.0, 0.0)
        return {
            "slice": number,
            "turns_per_second": len(taken) / length,
            "p50_ms": p50,
            "p99_ms": p99,
            "client_mb": rss() / 1e6,
            "tasks": len(asyncio.all_tasks()),
            **state(dsn),
        }


def state(dsn: str) -> dict[str, Any]:
    with connect(dsn) as connection:
        (row,) = connection.execute(
            """SELECT pg_database_size(current_database()) / 1e6 AS database_mb,
                      (SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND pid <> pg_backend_pid()) AS sessions,
                      sum(n_dead_tup)::float8 / greatest(sum(n_live_tup), 1) AS dead
               FROM pg_stat_user_tables"""
        ).fetchall()
    return {key: float(value or 0) for key, value in row.items()}


def bloat(dsn: str) -> tuple[float, float]:
    """Return the megabytes of all tables after VACUUM, and after they were written anew."""
    sizes = []
    with connect(dsn) as connection:
        for statement in ("VACUUM", "VACUUM FULL"):
            connection.execute(statement)
            (row,) = connection.execute(
                "SELECT sum(pg_total_relation_size(relid)) / 1e6 AS mb FROM pg_stat_user_tables"
            ).fetchall()
            sizes.append(float(row["mb"]))
    return sizes[0], sizes[1]


def show(row: dict[str, Any]) -> None:
    print(
        f"{row['slice']:>5} {row['turns_per_second']:>8.1f} {row['p50_ms']:>8.0f} "
        f"{row['p99_ms']:>8.0f} {row['client_mb']:>8.1f} {row['tasks']:>6} "
        f"{row['sessions']:>6.0f} {row['database_mb']:>8.1f} {row['dead']:>6.1%}",
        flush=True,
    )


async def soak(dsn: str, options: argparse.Namespace) -> tuple[int, list[dict[str, Any]]]:
    """Return the turns that were taken, and the figures of each slice."""
    async with SYSTEMS[options.system](dsn, options.pool) as system:
        work = Soak(system, options)
        found = await work.run(dsn)
    return work.turns, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--conversations", type=int, default=32)
    parser.add_argument("--pool", type=int, default=8)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--kept", type=int, default=100)
    parser.add_argument("--system", default="ledger", choices=SYSTEMS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with server(options.dsn) as running, new_database(running) as dsn:
        print(machine(dsn))
        print("slice  turns/s   p50 ms   p99 ms       MB  tasks  sess.    DB MB   dead")
        turns, found = asyncio.run(soak(dsn, options))  # noqa: TID251 - a benchmark is no library
        print(f"{turns} turns: {turns / TURNS_AN_HOUR:.1f} hours of the service")
        vacuumed, anew = bloat(dsn)
        print(f"after VACUUM {vacuumed:.1f} MB, written anew {anew:.1f} MB: {vacuumed / anew:.2f}x")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
