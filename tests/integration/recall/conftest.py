"""Ledgers that search, with and without vectors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from tests.support.words import NOTES, Words


@pytest.fixture
def ledger(dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(dsn) as opened:
        yield opened


@pytest.fixture(scope="module")
def noted(module_dsn: str) -> Iterator[Ledger]:
    """A ledger with the notes of a thread, for tests that write nothing."""
    with Ledger.from_conn_string(module_dsn) as opened:
        opened.append([HumanMessage(note) for note in NOTES], thread_id="t")
        yield opened


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture
def meaning(dsn: str, words: Words) -> Iterator[Ledger]:
    """A ledger whose searches use vectors; flush() makes them."""
    with Ledger.from_conn_string(dsn, embeddings=words) as opened:
        yield opened
