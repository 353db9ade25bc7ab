"""What integration tests of several features share."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.defpath}:/usr/sbin:/usr/local/sbin")

Pooler = Callable[..., str]


@contextmanager
def _running(folder: Path, dsn: str, mode: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    target = conninfo_to_dict(dsn)
    server = " ".join(f"{k}={target[k]}" for k in ("host", "port", "user") if k in target)
    config, log = folder / f"{mode}.ini", folder / f"{mode}.log"
    config.write_text(
        f"[databases]\n* = {server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"unix_socket_dir =\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = 2\n"
        # A statement that gets stuck in PgBouncer 1.18 (seen about once in a hundred runs on
        # a busy machine) would wait its default of two minutes; sent again it goes through.
        "query_wait_timeout = 5\n"
        # A session that could not be opened is tried again before that, not after 15 seconds.
        "server_login_retry = 1\n"
        f"logfile = {log}\n"
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
            if log.exists():
                print(log.read_text())  # shown where the test failed


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
    """Start PgBouncer in a mode, in front of an empty database or the one given."""
    if PGBOUNCER is None:
        pytest.skip("pgbouncer is not installed (apt-get install pgbouncer)")
    with ExitStack() as stack:
        yield lambda mode, dsn=empty_dsn: stack.enter_context(_running(open_folder, dsn, mode))
