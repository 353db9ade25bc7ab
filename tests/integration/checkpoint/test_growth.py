"""What a thread takes, in bytes over turns, where other channels change between messages."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph

from langledger import entries
from langledger.checkpoint import LedgerSaver
from langledger.database import Database
from langledger.entries import Location
from langledger.operations import Batch, Query, run
from tests.conftest import CITUS

_SIZES = """
SELECT sum(pg_column_size(refs)) AS refs, sum(octet_length(log)) AS log FROM {schema}.checkpoint
"""

# What grew with the length of a thread would be five times as much in the third twenty turns as in
# the first. How entries of one step interleave, and so how many ranges name them, is by chance.
_SAME = 2.0

_ROWS_READ = """
SELECT sum(idx_tup_read)::int AS n FROM pg_stat_user_indexes
WHERE relname IN ('entry', 'checkpoint')
"""


class Noted(MessagesState):
    note: str
    plan: list[str]


class Own(JsonPlusSerializer):
    """Nothing is known about it: what it stores is taken to be opaque."""


def noted(saver: LedgerSaver) -> Any:
    """Return a graph of which two channels, too large to stand in place, change at each turn."""

    def answer(state: Noted) -> Any:
        told = random.Random(len(state["messages"]))
        words = [f"{told.getrandbits(64):x}" for _ in range(40)]
        said = AIMessage(f"answer {len(state['messages'])}")
        return {"messages": [said], "note": " ".join(words), "plan": words[::-1]}

    builder = StateGraph(Noted).add_node("llm", answer).add_edge(START, "llm")
    return builder.compile(checkpointer=saver)


def config(thread_id: str = "thread") -> Any:
    return {"configurable": {"thread_id": thread_id}}


def talk(graph: Any, turns: int, thread_id: str = "thread", *, first: int = 0) -> Any:
    state: Any = None
    for turn in range(first, first + turns):
        state = graph.invoke({"messages": [("user", f"turn {turn}")]}, config(thread_id))
    return state


@pytest.mark.parametrize("serde", [None, Own()], ids=["open", "opaque"])
def test_a_turn_takes_the_same_at_any_length(
    database: Database, rows: Any, serde: Own | None
) -> None:
    graph = noted(LedgerSaver(database, serde=serde))
    sizes = [{"refs": 0, "log": 0}]
    for _ in range(3):
        talk(graph, 20)
        sizes += rows(_SIZES)
    for what in ("refs", "log"):
        grown = [after[what] - before[what] for before, after in pairwise(sizes)]
        assert grown[2] < _SAME * grown[0], f"{what} grew by {grown} bytes each 20 turns"


@pytest.mark.parametrize("serde", [None, Own()], ids=["open", "opaque"])
def test_a_dict_that_gains_a_key_a_step_takes_the_same_at_any_length(
    database: Database, rows: Any, put: Any, serde: Own | None
) -> None:
    saver = LedgerSaver(database, serde=serde)
    files = {f"src/module_{n}.py": f"{n} " * 100 for n in range(150)}
    sizes, parent = [0], None
    for n, _ in enumerate(files, start=1):
        parent = put({"files": dict(list(files.items())[:n])}, parent=parent, version=n, by=saver)
        if n % 50 == 0:
            sizes.append(rows(_SIZES)[0]["log"])
    grown = [after - before for before, after in pairwise(sizes)]
    assert max(grown) < _SAME * grown[0], f"log grew by {grown} bytes each 50 steps"

    saver.prune(["thread"])  # and with it what only the other checkpoints were made of
    saver.copy_thread("thread", "copy")
    for thread_id in ("thread", "copy"):
        read = LedgerSaver(database, serde=serde, cache_bytes=0).get_tuple(config(thread_id))
        assert read is not None
        assert read.checkpoint["channel_values"]["files"] == files
    assert rows("SELECT count(*)::int AS n FROM {schema}.entry")[0]["n"] < 2 * (150 + 20)


@pytest.mark.skipif(CITUS is not None, reason="one server counts its own rows alone")
def test_a_turn_reads_the_same_rows_at_any_length(dsn: str) -> None:
    """Also before the tables are first analysed, when PostgreSQL knows no index to be better."""
    with Database(dsn, max_size=1) as database:
        graph = noted(LedgerSaver(database))
        read = [0]
        for first in (0, 20, 40):
            talk(graph, 20, first=first)
            # The one connection tells the server what it read, then asks.
            database.execute(Batch([Query("SELECT pg_stat_force_next_flush()")]))
            read += [row["n"] for row in database.execute(Batch([Query(_ROWS_READ)]))[0]]
        grown = [after - before for before, after in pairwise(read)]
        assert 0 < grown[2] < _SAME * grown[0], f"rows read each 20 turns: {grown}"


def test_values_outlive_pruning_and_a_copy_goes_on_from_them(
    saver: LedgerSaver, cold: LedgerSaver, database: Database
) -> None:
    talk(noted(saver), 4)
    saver.prune(["thread"])
    saver.copy_thread("thread", "copy")
    for thread_id in ("copy", "thread"):
        state = talk(noted(cold), 3, thread_id)
        assert noted(saver).get_state(config(thread_id)).values == state
        stored = run(entries.history(Location("default", thread_id)), database)
        assert [entry.message for entry in stored] == state["messages"]
        assert [entry.entry_id for entry in stored] == list(range(1, 15))
