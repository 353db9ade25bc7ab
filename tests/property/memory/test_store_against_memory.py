"""LangGraph's InMemoryStore as the oracle: the same writes and reads, equal answers.

Where the two differ on purpose the strategies stay away: a stored item keeps its first
``created_at``, booleans are no numbers, and a comparison of unlike kinds matches nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from langledger.database import Database
from langledger.encryption import KeyRing
from langledger.memory.store import LedgerStore

LABELS = st.sampled_from(["a", "b", "bc", "b_", "%", "john-doe", "john_doe", "\u4e2d", "a b"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(LABELS, max_size=2).map(tuple)
KEYS = st.sampled_from(["", "1", "k", "k.1", "%", "\u6587"])
TEXT = st.sampled_from(
    ["", "red", "2024-01-02", "10", "NUL \x00", "half \ud800", "\ufdd0", "'; --"]
)
NUMBERS = st.one_of(
    st.integers(-120, 120),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2, 9, 10, 11, 100, 10**30]),
)
SCALARS = st.one_of(TEXT, NUMBERS, st.none())
VALUES = st.recursive(
    st.one_of(SCALARS, st.booleans()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["x", "y", "0"]), inner)
    ),
    max_leaves=6,
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "score": NUMBERS,
        "colour": TEXT,
        "nested": st.fixed_dictionaries({"deep": NUMBERS, "list": st.lists(NUMBERS, max_size=2)}),
        "any": VALUES,
    },
)
ORDERS = st.sampled_from(["$gt", "$gte", "$lt", "$lte"])
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "colour": st.one_of(TEXT, st.fixed_dictionaries({"$ne": TEXT}), st.none()),
        "missing": st.none(),
        "nested": st.one_of(
            st.fixed_dictionaries({"deep": NUMBERS}),
            st.fixed_dictionaries({"list": st.lists(NUMBERS, max_size=2)}),
        ),
        "score": st.one_of(NUMBERS, st.fixed_dictionaries({"$eq": NUMBERS})),
    },
)


def plain(item: Item | None) -> Any:
    return item and (item.namespace, item.key, item.value)


def page(found: list[Item]) -> list[Any]:
    return sorted(map(plain, found), key=repr)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.mark.parametrize(
    "encryption", [None, KeyRing({"k": KeyRing.new_key()})], ids=["clear", "encrypted"]
)
def test_the_same_as_in_memory(
    dsn: str, encryption: KeyRing | None, loop: asyncio.AbstractEventLoop
) -> None:
    with Database(dsn, encryption=encryption) as database:
        compare(database, loop, examples=40 if encryption is None else 15)


def compare(database: Database, loop: asyncio.AbstractEventLoop, *, examples: int) -> None:
    class Machine(RuleBasedStateMachine):
        runs = 0

        @initialize()
        def start(self) -> None:
            Machine.runs += 1
            self.memory = InMemoryStore()
            self.ours = LedgerStore(database, tenant=f"t{Machine.runs}")
            self.awaited = False

        def batch(self, ops: list[Any]) -> tuple[list[Any], list[Any]]:
            self.awaited = not self.awaited
            ours = (
                loop.run_until_complete(self.ours.abatch(ops))
                if self.awaited
                else self.ours.batch(ops)
            )
            return ours, self.memory.batch(ops)

        @rule(namespace=NAMESPACES, key=KEYS, value=ITEMS)
        def put(self, namespace: tuple[str, ...], key: str, value: dict[str, Any]) -> None:
            self.batch([PutOp(namespace, key, value)])
            ours, theirs = self.batch([GetOp(namespace, key)])
            assert plain(ours[0]) == plain(theirs[0])

        @rule(namespace=NAMESPACES, key=KEYS)
        def delete(self, namespace: tuple[str, ...], key: str) -> None:
            self.batch([PutOp(namespace, key, None)])

        @rule(
            puts=st.lists(st.tuples(NAMESPACES, KEYS, st.one_of(st.none(), ITEMS)), max_size=4),
            asked=st.tuples(NAMESPACES, KEYS),
            prefix=PREFIXES,
        )
        def mixed(self, puts: Any, asked: Any, prefix: tuple[str, ...]) -> None:
            reads = [GetOp(*asked), SearchOp(prefix, limit=1000), GetOp(*asked)]
            ops = [*reads[:1], *(PutOp(*put) for put in puts), *reads[1:]]
            ours, theirs = self.batch(ops)
            assert plain(ours[0]) == plain(theirs[0])
            assert page(ours[-2]) == page(theirs[-2])
            assert plain(ours[-1]) == plain(theirs[-1])
            assert ours[1:-2] == theirs[1:-2] == [None] * len(puts)

        @rule(prefix=PREFIXES, wanted=FILTERS)
        def search(self, prefix: tuple[str, ...], wanted: dict[str, Any]) -> None:
            ours, theirs = self.batch([SearchOp(prefix, filter=wanted, limit=1000)])
            assert page(ours[0]) == page(theirs[0])

        @rule(prefix=PREFIXES, order=ORDERS, bound=NUMBERS)
        def compare(self, prefix: tuple[str, ...], order: str, bound: float) -> None:
            # InMemoryStore raises where an item lacks the field: give it those that have it.
            everything = self.memory.search(prefix, limit=1000)
            reached = [item for item in everything if "score" in item.value]
            alone = InMemoryStore()
            for item in reached:
                alone.put(item.namespace, item.key, item.value)
            wanted = {"score": {order: bound}}
            ours = self.ours.search(prefix, filter=wanted, limit=1000)
            assert page(ours) == page(alone.search(prefix, filter=wanted, limit=1000))

        @rule(prefix=PREFIXES, size=st.integers(1, 3))
        def pages(self, prefix: tuple[str, ...], size: int) -> None:
            found: list[Any] = []
            while more := self.ours.search(prefix, limit=size, offset=len(found)):
                found += more
            assert page(found) == page(self.memory.search(prefix, limit=1000))

        @rule(
            prefix=st.one_of(st.none(), st.lists(st.one_of(LABELS, st.just("*")), max_size=2)),
            suffix=st.one_of(st.none(), st.lists(st.one_of(LABELS, st.just("*")), max_size=2)),
            depth=st.one_of(st.none(), st.integers(1, 3)),
            limit=st.integers(0, 4),
            offset=st.integers(0, 2),
        )
        def namespaces(
            self, prefix: Any, suffix: Any, depth: int | None, limit: int, offset: int
        ) -> None:
            given = [("prefix", prefix), ("suffix", suffix)]
            conditions = tuple(MatchCondition(k, tuple(p)) for k, p in given if p is not None)
            op = ListNamespacesOp(conditions, depth, limit, offset)
            # InMemoryStore lists namespaces that are empty by now: tell it which are not.
            alone = InMemoryStore()
            for item in self.memory.search((), limit=1000):
                alone.put(item.namespace, item.key, {})
            assert self.ours.batch([op]) == alone.batch([op])

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            suppress_health_check=list(HealthCheck),
        ),
    )
