"""A ledger per test, on the database of its file: one tenant each."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from langledger import Ledger
from langledger.database import Database


@pytest.fixture(scope="module")
def module_database(module_dsn: str) -> Iterator[Database]:
    with Database(module_dsn) as database:
        yield database


@pytest.fixture
def ledger(module_database: Database) -> Ledger:
    return Ledger(module_database, tenant=uuid4().hex)
