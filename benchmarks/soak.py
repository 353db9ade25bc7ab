"""Whether anything grows that should not: threads come and go for as long as asked.

    python benchmarks/soak.py [--dsn DSN] [--seconds 1200] [--conversations 32] [--pool 8]
        [--turns 20] [--kept 100] [--system ledger] [--plot FILE.png] [--json FILE]

So many conversations go on at any time, each on a thread that ends after --turns turns; of those
that ended the newest --kept stay, the others are deleted. A turn is that of load_workload.py; on a
ledger it also appends two messages of its own, and every fifth one searches the thread. A day of a
service with 32 people who take a turn a minute is 46,080 turns; what was reached is said as hours
of it. Each slice of time is a line. The slopes are of the slices after the first third, when as
many threads ended as are kept: what each grows by in 10,000 turns, and twice the slope's standard
error.
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

import numpy as np
from checkpoint_workload import _sessions, machine, new_database, server
from langchain_core.messages import AIMessage, HumanMessage
from load_workload import SYSTEMS, TEXT, Conversation, System, percentiles, rss
from psycopg.conninfo import conninfo_to_dict

from langledger.database.connection import connect

SLICES = 40
TURNS_AN_HOUR = 32 * 60
USERS = 200
LOOKED_AT = {
    "client_mb": "client, MB",
    "server_mb": "server's sessions, MB of their own",
    "tables_mb": "tables and indexes, MB",
    "threads": "threads",
    "files": "file descriptors",
    "tasks": "tasks",
    "sessions": "sessions",
    "p50_ms": "p50 of a turn, ms",
}


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
            conversation = Conversation(next(self._numbers) % USERS)
            for turn in range(self._options.turns):
                if time.monotonic() >= self._until:
                    return
                taken = await conversation.turn(self._system)
                if self._system.ledger is not None:
                    await self._remember(conversation.thread_id, turn)
                self.taken.append(taken)
                self.turns += 1
            self._ended.append(conversation.thread_id)
            if len(self._ended) > self._options.kept:
                await self._system.saver.adelete_thread(self._ended.popleft())

    async def _remember(self, thread_id: str, turn: int) -> None:
        messages = [HumanMessage(TEXT.human(turn)), AIMessage(TEXT.answer(turn))]
        await self._system.ledger.append(messages, thread_id=thread_id)
        if turn % 5 == 4:
            await self._system.ledger.recall("the import statement", thread_id=thread_id)

    async def run(self, dsn: str) -> list[dict[str, Any]]:
        tasks = [asyncio.create_task(self.talk()) for _ in range(self._options.conversations)]
        found: list[dict[str, Any]] = []
        length = self._options.seconds / SLICES
        began = time.monotonic()
        while began + length <= self._until:
            await asyncio.sleep(length)
            ended = time.monotonic()
            taken, self.taken = self.taken, []
            row = self.slice(len(found), taken, ended - began)
            found.append(row | await asyncio.to_thread(state_of, dsn))
            show(found[-1])
            began = ended
        await asyncio.gather(*tasks)
        return found

    def slice(self, number: int, taken: list[float], length: float) -> dict[str, Any]:
        p50, _, p99 = percentiles(taken) if len(taken) > 1 else (0.0, 0.0, 0.0)
        return {
            "slice": number,
            "turns": self.turns,
            "turns_per_second": len(taken) / length,
            "p50_ms": p50,
            "p99_ms": p99,
            "client_mb": rss() / 1e6,
            "tasks": len(asyncio.all_tasks()),
            "threads": len(list(Path("/proc/self/task").iterdir())),
            "files": len(list(Path("/proc/self/fd").iterdir())),
        }


def state_of(dsn: str) -> dict[str, Any]:
    """Return what the server says of the database, and what its sessions take."""
    with connect(dsn) as connection:
        rows = connection.execute(
            """SELECT relname AS name, pg_total_relation_size(relid) / 1e6 AS mb,
                      n_dead_tup AS dead, n_live_tup AS live FROM pg_stat_user_tables"""
        ).fetchall()
        (sessions,) = connection.execute(
            """SELECT count(*) AS n FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        ).fetchall()
    return {
        "tables": {row["name"]: float(row["mb"]) for row in rows},
        "tables_mb": sum(float(row["mb"]) for row in rows),
        "dead": sum(row["dead"] for row in rows) / max(1, sum(row["live"] for row in rows)),
        "sessions": int(sessions["n"]),
        "server_mb": sum(map(private, _sessions(str(conninfo_to_dict(dsn)["dbname"])))) / 1e6,
    }


def private(process: int) -> int:
    """Bytes of a process that it shares with no other."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it ended, or is not ours to look at
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


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


def slope(found: list[dict[str, Any]], name: str) -> tuple[float, float, float]:
    """Return a figure's mean, its growth in 10,000 turns, and twice the standard error of that."""
    settled = found[len(found) // 3 :]
    turns = np.array([row["turns"] for row in settled]) / 10_000
    values = np.array([row[name] for row in settled], dtype=float)
    if np.ptp(turns) == 0 or len(settled) < 4:
        return float(values.mean()), 0.0, float("nan")
    (growth, _), covariance = np.polyfit(turns, values, 1, cov=True)
    return float(values.mean()), float(growth), 2 * float(np.sqrt(covariance[0, 0]))


def show(row: dict[str, Any]) -> None:
    print(
        f"{row['slice']:>5} {row['turns_per_second']:>8.1f} {row['p50_ms']:>8.0f} "
        f"{row['p99_ms']:>8.0f} {row['client_mb']:>8.1f} {row['server_mb']:>8.1f} "
        f"{row['threads']:>7} {row['files']:>5} {row['tasks']:>6} {row['sessions']:>6} "
        f"{row['tables_mb']:>9.1f} {row['dead']:>6.1%}",
        flush=True,
    )


def draw(found: list[dict[str, Any]], file: Path) -> None:
    """Each figure over the turns, as PNG."""
    import matplotlib.pyplot as plt  # of the group "bench"; the figures can be had without

    figure, axes = plt.subplots(2, 4, figsize=(15, 6), layout="constrained")
    turns = [row["turns"] for row in found]
    for axis, (name, title) in zip(axes.flat, LOOKED_AT.items(), strict=True):
        axis.plot(turns, [row[name] for row in found])
        _, growth, error = slope(found, name)
        axis.set(title=title, ylim=(0, None))
        axis.set_xlabel(f"turns; {growth:+.2f} ± {error:.2f} in 10,000")
    figure.savefig(file, dpi=100)


async def soak(dsn: str, options: argparse.Namespace) -> tuple[int, list[dict[str, Any]]]:
    """Return the turns that were taken, and the figures of each slice."""
    async with SYSTEMS[options.system](dsn, options.pool) as system:
        work = Soak(system, options)
        found = await work.run(dsn)
    return work.turns, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn")
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--conversations", type=int, default=32)
    parser.add_argument("--pool", type=int, default=8)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--kept", type=int, default=100)
    parser.add_argument("--system", default="ledger", choices=SYSTEMS)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with server(options.dsn) as running, new_database(running) as dsn:
        print(machine(dsn))
        print(
            "slice  turns/s   p50 ms   p99 ms       MB   srv MB threads files  tasks  sess. "
            "tables MB   dead"
        )
        turns, found = asyncio.run(soak(dsn, options))  # noqa: TID251 - a benchmark is no library
        print(f"{turns} turns: {turns / TURNS_AN_HOUR:.1f} hours of the service")
        for name, title in LOOKED_AT.items():
            mean, growth, error = slope(found, name)
            print(f"{title}: {mean:.2f} on average, {growth:+.2f} ± {error:.2f} in 10,000 turns")
        vacuumed, anew = bloat(dsn)
        print(f"after VACUUM {vacuumed:.1f} MB, written anew {anew:.1f} MB: {vacuumed / anew:.2f}x")
    if options.plot:
        draw(found, options.plot)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
