"""A few of the faults of benchmarks/fault_injection.py, each once.

What is asserted holds whenever the fault comes, so nothing here depends on how fast a machine is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from langledger.database.connection import connect
from langledger.encryption import KeyRing
from tests.support.fault_checks import Told, problems_after
from tests.support.stoppable import StoppableServer

ENOUGH = 6  # acknowledgements
KEYS = f"k:{KeyRing.new_key()}"


def cut(server: StoppableServer, _: Any) -> None:
    with connect(server.dsn) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def kill_both(server: StoppableServer, process: subprocess.Popen[str]) -> None:
    server.kill()
    process.kill()
    server.start()


@pytest.mark.parametrize(
    ("how", "fault", "encryption"),
    [("threads", kill_both, KEYS), ("cancel", cut, None)],
    ids=["both killed, encrypted", "tasks cancelled, sessions cut"],
)
def test_what_was_acknowledged_is_there(
    server: StoppableServer, how: str, fault: Callable[..., None], encryption: str | None
) -> None:
    tenant = f"t{uuid4().hex[:12]}"
    keys = {} if encryption is None else {"LANGLEDGER_ENCRYPTION_KEYS": encryption}
    command = [sys.executable, "-m", "tests.support.fault_workload", server.dsn, tenant, how, "7"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LANGLEDGER_EMBEDDINGS": "off", **keys},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if sum('"op"' in line for line in lines) == ENOUGH:
                fault(server, process)
                process.stdin.close()
                process.stdin = None
                break
        rest, errors = process.communicate(timeout=120)
    told = Told().read([*lines, *rest.splitlines()])
    assert told.acknowledged, errors
    assert process.returncode in (0, -9), errors
    assert problems_after(server.dsn, tenant, told, encryption=encryption) == []
