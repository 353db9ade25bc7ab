"""What is remembered of threads stays within its budget, however many there are."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from langledger.checkpoint.cache import Cache, StoredItem

THREADS = [UUID(int=n) for n in range(6)]
BUDGET = 60_000
STEP = st.tuples(
    st.sampled_from(["read", "renew", "forget"]),
    st.sampled_from(THREADS),
    st.integers(0, 20),
    st.integers(0, 8_000),
)


def learn(cache: Cache, thread: UUID, seq: int, length: int, *, anew: bool = False) -> int:
    """Read an entry of a thread as the checkpointer does; return what the thread then takes."""
    items = cache.items(thread)
    if anew:
        items = cache.renewed(thread, items, (items.generation or 0) + 1)
    items.add(seq, StoredItem("message", None, b"x" * length), bytes([seq]))
    cache.trim(thread)
    return items.size


@given(steps=st.lists(STEP, max_size=40))
def test_what_was_used_longest_ago_is_dropped_and_no_more(
    steps: list[tuple[str, UUID, int, int]],
) -> None:
    cache, taken = Cache(BUDGET), dict[UUID, int]()
    for what, thread, seq, length in steps:
        taken.pop(thread, None)
        if what == "forget":
            cache.forget(thread)
            continue
        taken[thread] = learn(cache, thread, seq, length, anew=what == "renew")
        while sum(taken.values()) > BUDGET:
            del taken[next(iter(taken))]
        kept = cache._threads  # pyright: ignore[reportPrivateUsage] - nothing else tells
        assert {thread: items.size for thread, items in kept.items()} == taken


def test_what_a_forgotten_thread_took_is_free_again() -> None:
    cache = Cache(BUDGET)
    for thread in THREADS[:3]:
        learn(cache, thread, 1, 10_000)
        cache.forget(thread)
    kept = cache.items(THREADS[4])
    learn(cache, THREADS[4], 1, 10_000)
    assert cache.items(THREADS[4]) is kept
