"""Behind PgBouncer, whose clients share the sessions of the server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from langledger.database import AsyncDatabase, Database
from langledger.database.connection import connect
from langledger.database.doctor import pooling
from langledger.operations import Batch, Query

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.defpath}:/usr/sbin:/usr/local/sbin")

Pooler = Callable[[str], str]


@contextmanager
def _running(folder: Path, dsn: str, mode: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    target = conninfo_to_dict(dsn)
    server = " ".join(f"{k}={target[k]}" for k in ("host", "port", "user") if k in target)
    config = folder / f"{mode}.ini"
    config.write_text(
        f"[databases]\n* = {server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"unix_socket_dir =\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = 2\n"
        f"logfile = {folder / mode}.log\n"
    )
    command = [PGBOUNCER, "-q", config]
    if os.geteuid() == 0:  # it refuses root; the server's socket is open to its own user alone
        socket_folder = Path(target["host"])
        owner = socket_folder.owner() if socket_folder.is_dir() else "nobody"
        shutil.chown(folder, owner)
        command[1:1] = ["-u", owner]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            _wait_for(port, process)
            yield f"postgresql://{target['user']}@127.0.0.1:{port}/{target['dbname']}"
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert process.poll() is None, process.stderr.read()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    pytest.fail("pgbouncer does not listen")


@pytest.fixture
def pooler(open_folder: Path, empty_dsn: str) -> Iterator[Pooler]:
    """Start PgBouncer in a mode, in front of an empty database."""
    if PGBOUNCER is None:
        pytest.skip("pgbouncer is not installed (apt-get install pgbouncer)")
    with ExitStack() as stack:
        yield lambda mode: stack.enter_context(_running(open_folder, empty_dsn, mode))


def test_eight_threads_share_two_sessions_without_a_mistake(pooler: Pooler) -> None:
    with Database(pooler("transaction"), max_size=8) as database:
        database.setup()
        insert = (
            "INSERT INTO {schema}.summary_cache (tenant, digest, summary) "
            "VALUES (%(tenant)s, %(digest)s, 'x')"
        )
        count = "SELECT count(*) AS n FROM {schema}.summary_cache WHERE tenant = %(tenant)s"

        def work(thread: int) -> None:
            tenant = {"tenant": f"t{thread}"}
            for n in range(40):
                write = Query(insert, {**tenant, "digest": bytes([n])})
                rows = database.execute(Batch([write, Query(count, tenant)], repeatable=False))
                assert rows == [[], [{"n": n + 1}]]
                assert database.execute(Batch([Query(count, tenant)])) == [[{"n": n + 1}]]

        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(work, range(8))) == [None] * 8


async def test_the_async_pool_works_there_too(pooler: Pooler) -> None:
    async with AsyncDatabase(pooler("transaction")) as database:
        await database.asetup()
        for _ in range(10):
            rows = await database.aexecute(Batch([Query("SELECT 1 AS n"), Query("SELECT 2 AS n")]))
            assert rows == [[{"n": 1}], [{"n": 2}]]


def test_two_schemas_do_not_meet_in_one_session(pooler: Pooler) -> None:
    dsn = pooler("transaction")
    with Database(dsn, schema="one") as one, Database(dsn, schema="two") as two:
        for database in (one, two):
            database.setup()
        one.execute(
            Batch(
                [Query("INSERT INTO {schema}.summary_cache VALUES ('t', '\\x00', 'only in one')")]
            )
        )
        count = Batch([Query("SELECT count(*)::int AS n FROM {schema}.summary_cache")])
        for _ in range(10):
            assert one.execute(count) == [[{"n": 1}]]
            assert two.execute(count) == [[{"n": 0}]]


def test_what_stands_in_between_is_recognised(pooler: Pooler, empty_dsn: str) -> None:
    assert pooling(empty_dsn) == "none"
    assert pooling(pooler("session")) == "session"
    assert pooling(pooler("transaction")) == "transaction"
    with connect(empty_dsn) as connection:
        connection.execute("SELECT 1")
