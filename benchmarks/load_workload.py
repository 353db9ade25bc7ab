"""What the load benchmarks share: two systems that do the same work, and what they cost.

A turn of a conversation is what one step of an agent with a memory asks of them: read the newest
checkpoint; put the user's message, the writes of the model's task and the checkpoint after it;
put one item into the store, and list what is below the user's namespace.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any
from uuid import uuid4

from checkpoint_throughput import METADATA, checkpoint
from checkpoint_workload import Text
from langchain_core.messages import AIMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool

from langledger import AsyncLedger
from langledger.database.connection import connect

TEXT = Text()


@dataclass
class System:
    """A checkpointer and a store on one pool, and the ledger they are of, if they are."""

    name: str
    saver: Any
    store: Any
    ledger: AsyncLedger | None = None


@asynccontextmanager
async def postgres(dsn: str, pool: int) -> AsyncIterator[System]:
    """LangGraph's own; prepared statements off, with which it fails behind PgBouncer 1.18."""
    options = {"autocommit": True, "prepare_threshold": None}
    async with AsyncConnectionPool(
        dsn, min_size=1, max_size=pool, kwargs=options, open=False, timeout=120
    ) as connections:
        saver, store = AsyncPostgresSaver(connections), AsyncPostgresStore(connections)
        await saver.setup()
        await store.setup()
        yield System("postgres", saver, store)


@asynccontextmanager
async def ledger(dsn: str, pool: int) -> AsyncIterator[System]:
    async with AsyncLedger.from_conn_string(dsn, pool_size=pool, embeddings="off") as opened:
        yield System("ledger", opened.checkpointer(), opened.store(), opened)


SYSTEMS = {"postgres": postgres, "ledger": ledger}


@dataclass
class Conversation:
    """One thread, turn by turn."""

    number: int
    thread_id: str = field(default_factory=lambda: str(uuid4()))
    step: int = 0

    async def turn(self, system: System) -> float:
        """Do one turn; return its seconds."""
        started = time.perf_counter()
        config: Any = {"configurable": {"thread_id": self.thread_id, "checkpoint_ns": ""}}
        found = await system.saver.aget_tuple(config)
        config = found.config if found else config
        config = await self._put(system, config)
        reply = AIMessage(TEXT.prose(self.step * 700, 600), id=f"{self.number}-r{self.step}")
        writes = [("messages", [reply])]
        await system.saver.aput_writes(config, writes, str(uuid4()), "~__pregel_pull, llm")
        await self._put(system, config)
        namespace = ("users", str(self.number))
        value = {"text": TEXT.prose(self.step * 300, 200)}
        await system.store.aput(namespace, f"fact {self.step % 20}", value)
        await system.store.asearch(namespace, limit=5)
        return time.perf_counter() - started

    async def _put(self, system: System, config: Any) -> Any:
        made = checkpoint(TEXT, self.number, self.step)
        self.step += 1
        return await system.saver.aput(config, made, METADATA, made["channel_versions"])


@dataclass
class Watch:
    """The most memory and sessions that were seen while it ran."""

    dsn: str
    rss: int = 0
    sessions: int = 0

    async def run(self) -> None:
        database = conninfo_to_dict(self.dsn)["dbname"]
        with connect(self.dsn) as connection:
            while True:
                (row,) = connection.execute(
                    "SELECT count(*) AS n FROM pg_stat_activity "
                    "WHERE datname = %s AND pid <> pg_backend_pid()",
                    [database],
                ).fetchall()
                self.sessions = max(self.sessions, int(row["n"]))
                self.rss = max(self.rss, rss())
                await asyncio.sleep(0.5)


@asynccontextmanager
async def watching(dsn: str) -> AsyncIterator[Watch]:
    watch = Watch(dsn)
    task = asyncio.create_task(watch.run())
    try:
        yield watch
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def rss() -> int:
    """Bytes of this process now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def percentiles(seconds: list[float]) -> tuple[float, float, float]:
    """p50, p95 and p99 in milliseconds."""
    cuts = quantiles(seconds, n=100)
    return cuts[49] * 1e3, cuts[94] * 1e3, cuts[98] * 1e3


@contextmanager
def pgbouncer(dsn: str, sessions: int) -> Iterator[str]:
    """Run PgBouncer in transaction mode with so many sessions of the server."""
    program = shutil.which("pgbouncer", path=f"{os.defpath}:/usr/sbin:/usr/local/sbin")
    assert program, "pgbouncer is not installed (apt-get install pgbouncer)"
    target = conninfo_to_dict(dsn)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = " ".join(f"{k}={target[k]}" for k in ("host", "port", "user") if k in target)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n* = {address}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
            f"default_pool_size = {sessions}\nmax_client_conn = 1000\n"
        )
        Path(folder).chmod(0o755)
        command = [program, "-q", str(config)]
        if os.geteuid() == 0:
            home = Path(str(target.get("host", "")))
            command[1:1] = ["-u", home.owner() if home.is_dir() else "nobody"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                for _ in range(100):
                    with socket.socket() as probe:
                        if probe.connect_ex(("127.0.0.1", port)) == 0:
                            break
                    time.sleep(0.05)
                yield f"postgresql://{target['user']}@127.0.0.1:{port}/{target['dbname']}"
            finally:
                process.terminate()
