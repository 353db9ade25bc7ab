"""What a process remembers, and what waits in it, stays within bounds however much comes."""

from __future__ import annotations

from collections import Counter
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from langledger.checkpoint.cache import Cache
from langledger.operations import Operation
from langledger.recall import known, worker
from langledger.recall.embeddings import Embedder
from langledger.recall.known import _Sizes
from langledger.recall.worker import Worker
from langledger.state.extract import keeper
from langledger.state.extract.keeper import Keeper


class Nowhere:
    """A database that is never asked here."""

    def execute(self, batch: Any) -> Any:
        raise AssertionError(batch)

    aexecute = execute


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Worker:
    """A worker that waits for more than there will be."""
    monkeypatch.setattr(worker, "_MOST", 10)
    embedder = Embedder(DeterministicFakeEmbedding(size=2))
    return Worker(Nowhere(), embedder, items=10**9, seconds=3600.0)


def test_the_spaces_noticed_first_are_dropped(waiting: Worker) -> None:
    for number in range(50):
        waiting.notice("acme", UUID(int=number))
    waiting.notice("acme", UUID(int=45))
    assert [space.int for _, space in waiting._noticed] == list(range(40, 50))
    assert waiting._noticed["acme", UUID(int=45)] == 2
    waiting.close()


def test_uses_beyond_the_bound_are_not_noted(waiting: Worker) -> None:
    for number in range(50):
        waiting.used("acme", Counter({(UUID(int=number), 1, 0): 1}))
    assert len(waiting.take_used("acme")) == 10
    waiting.close()


def test_the_oldest_jobs_on_the_state_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_MOST", 10)
    kept = Keeper(Nowhere(), items=10**9, seconds=3600.0)

    def job() -> Operation[None]:
        yield from ()

    for number in range(50):
        kept.notice(number, job)
    assert list(kept._jobs) == list(range(40, 50))
    kept.close()


def test_a_job_that_hangs_does_not_keep_from_closing_and_working_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeper, "_LAST_SECONDS", 0.05)
    kept = Keeper(Nowhere(), items=1)
    began, release, done = Event(), Event(), list[str]()

    def hangs() -> Operation[None]:
        began.set()
        assert release.wait(60)
        yield from ()

    def works() -> Operation[None]:
        done.append("again")
        yield from ()

    kept.notice("one", hangs)
    assert began.wait(60)
    left = kept._thread
    kept.close()
    kept.open()
    kept.notice("two", works)
    kept.flush()
    assert done == ["again"]
    release.set()
    assert left is not None
    left.join(60)
    assert not left.is_alive()  # it takes no work of the thread that came after it
    kept.close()


def test_sizes_of_spaces_searched_longest_ago_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(known, "_SIZES", 10)
    sizes = _Sizes()
    for number in range(50):
        sizes[number] = 1.0
        sizes[0] = 1.0
    assert list(sizes) == [*range(41, 50), 0]


def test_threads_of_which_nothing_is_known_count_too() -> None:
    cache = Cache(1_000_000)
    for number in range(10_000):
        cache.items(UUID(int=number))
    cache.trim(UUID(int=9_999))
    assert 0 < len(cache._threads) <= 500
