"""What a user runs, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from langledger.database.connection import connect

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def clean_environment(**settings: str) -> dict[str, str]:
    """Return the environment without what a developer may have set for langledger."""
    inherited = os.environ.items()
    kept = {name: value for name, value in inherited if not name.startswith("LANGLEDGER_")}
    return {**kept, "PYTHONWARNINGS": "error", "COLUMNS": "80", **settings}


@pytest.fixture(scope="module")
def module_dsn(server_dsn: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh database for the tests of one module; what uses it sets it up."""
    name = f"langledger_{request.module.__name__.rpartition('.')[2]}_{os.getpid()}"
    with connect(server_dsn) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        try:
            yield make_conninfo(server_dsn, dbname=name)
        finally:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture(scope="session")
def run_python(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run this Python with arguments, outside of the project, its standard input closed."""
    folder = tmp_path_factory.mktemp("elsewhere")

    def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env=clean_environment(**settings),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
