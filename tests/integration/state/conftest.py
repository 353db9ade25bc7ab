"""A ledger on a fresh database, and an agent that talks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from langledger import Ledger
from langledger.database import Database


@pytest.fixture
def ledger(database: Database) -> Iterator[Ledger]:
    opened = Ledger(database, tenant="acme", embeddings="off")
    yield opened
    opened.keeper.close()
