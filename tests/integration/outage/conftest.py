"""A server of these tests' own, which they stop and kill."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from langledger.database import Database
from tests.conftest import _open_folder
from tests.support.stoppable import StoppableServer


@pytest.fixture(scope="package")
def server() -> Iterator[StoppableServer]:
    with _open_folder() as folder, StoppableServer(folder / "data") as made:
        Database(made.dsn).setup()
        yield made


@pytest.fixture(autouse=True)
def _running_again(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "server" in request.fixturenames:
        made: StoppableServer = request.getfixturevalue("server")
        if made.pid is None:
            made.start()
