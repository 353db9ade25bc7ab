"""Fixtures that every test may use: a real PostgreSQL, and the recorded material by path.

The server is the one of ``LANGLEDGER_TEST_DSN`` (a role that may create databases), else
the embedded one in a temporary folder. Each test gets a database of its own, cloned from
a template that was migrated once.

With ``LANGLEDGER_TEST_PARTITIONS``, a number, their large tables are made of so many partitions.

With ``LANGLEDGER_TEST_CITUS_DSN``, a database of a Citus coordinator to which workers were
added, these are databases of that cluster, distributed once and emptied for each test.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from langledger.database import AsyncDatabase, Database
from langledger.database.connection import connect
from langledger.database.embedded import EmbeddedServer
from langledger.database.partition import partition
from tests.support import cluster

ROOT = Path(__file__).resolve().parent.parent
CITUS = os.environ.get("LANGLEDGER_TEST_CITUS_DSN")
PARTITIONS = os.environ.get("LANGLEDGER_TEST_PARTITIONS")

# Loading a tokeniser takes longer than an example may; CI must not fail on luck.
settings.register_profile("langledger", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("langledger")

# A search would set a model to work behind every test; those about vectors name theirs.
os.environ.setdefault("LANGLEDGER_EMBEDDINGS", "off")


@pytest.fixture(scope="session")
def server_dsn() -> Iterator[str]:
    """The server's maintenance database."""
    given = os.environ.get("LANGLEDGER_TEST_DSN")
    if given:
        yield given
        return
    # fsync: nothing here has to survive a power cut.
    with (
        _open_folder() as folder,
        EmbeddedServer(folder / "data", settings={"fsync": "off"}) as server,
    ):
        yield server.dsn


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """An empty folder that everybody may enter.

    pytest's tmp_path is closed to the user that root's embedded server runs as.
    """
    with _open_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def template(server_dsn: str) -> Iterator[str]:
    """A database that is migrated to head, to be cloned."""
    with _new_database(server_dsn) as name:
        dsn = make_conninfo(server_dsn, dbname=name)
        if PARTITIONS:
            partition(dsn, partitions=int(PARTITIONS))
        Database(dsn).setup()
        yield name


@pytest.fixture(scope="session")
def distributed() -> Iterator[list[str]]:
    """Two databases of the cluster: one that tests have in turn, one that modules have."""
    assert CITUS is not None
    with cluster.new_database(CITUS) as one, cluster.new_database(CITUS) as other:
        yield [one, other]


@pytest.fixture
def dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh database, migrated to head."""
    if CITUS:
        yield cluster.empty(request.getfixturevalue("distributed")[0])
        return
    server_dsn, template = map(request.getfixturevalue, ("server_dsn", "template"))
    with _new_database(server_dsn, template=template) as name:
        yield make_conninfo(server_dsn, dbname=name)


@pytest.fixture(scope="module")
def module_dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database for all tests of a module, which keep apart by their tenants."""
    if CITUS:
        yield cluster.empty(request.getfixturevalue("distributed")[1])
        return
    server_dsn, template = map(request.getfixturevalue, ("server_dsn", "template"))
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
def _open_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="langledger-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def _new_database(server_dsn: str, *, template: str = "template1") -> Iterator[str]:
    name = f"langledger_{uuid4().hex[:16]}"
    with connect(server_dsn) as connection:
        connection.execute(
            SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(name), Identifier(template))
        )
        try:
            yield name
        finally:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
