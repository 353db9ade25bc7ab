"""The command line: in this process, and in one of its own that can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from langledger import Ledger
from langledger.database.connection import connect
from tests.support.shell import Call, caller

Capture = pytest.CaptureFixture[str]
Start = Callable[..., "subprocess.Popen[bytes]"]
Write = Callable[..., Path]
Hold = Callable[[str], AbstractContextManager[Callable[[], bool]]]

WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'relation' AND NOT granted"


@pytest.fixture
def ledger(dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(dsn) as opened:
        yield opened


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: Capture, dsn: str) -> Call:
    """Call the command line on a fresh database."""
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", dsn)

    return caller(monkeypatch, capsys)


@pytest.fixture
def start(dsn: str) -> Iterator[Start]:
    """Start the command line in a process of its own on the same database."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str | bytes | Path, **options: Any) -> subprocess.Popen[bytes]:
        settings = {"LANGLEDGER_DATABASE_URL": dsn, "PYTHONWARNINGS": "error"}
        environment = {**os.environ, **settings, **options.pop("env", {})}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        command = [sys.executable, "-m", "langledger.cli", *arguments]
        # Whoever runs the tests in the background of a shell has Ctrl-C ignored in all of them.
        options.setdefault("preexec_fn", _heed_ctrl_c)
        started.append(subprocess.Popen(command, env=environment, **options))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def hold(dsn: str) -> Hold:
    """Make whoever writes to a table wait there, and tell whether somebody does; readers go on."""

    @contextmanager
    def held(table: str) -> Iterator[Callable[[], bool]]:
        with connect(dsn) as holder, holder.transaction():
            holder.execute(f"LOCK TABLE langledger.{table} IN SHARE MODE")
            yield lambda: holder.execute(WAITING).fetchone() is not None

    return held


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a recorded session of these messages, user and assistant in turns."""

    def to(name: str, *texts: str) -> Path:
        file = tmp_path / name
        roles = ("user", "assistant")
        lines = [
            json.dumps({"role": roles[index % 2], "content": text})
            for index, text in enumerate(texts)
        ]
        file.write_text("\n".join(lines), encoding="utf-8")
        return file

    return to


@pytest.fixture
def long_session(write: Write) -> Path:
    """One that is compacted several times when it is replayed."""
    return write("long.jsonl", *(f"message {number}" for number in range(2000)))


def _heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
