"""Arguments that cannot be meant: one error of ours, before anything is asked of the database."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langledger import Ledger
from langledger.checkpoint import LedgerSaver
from langledger.database import Database
from langledger.errors import ConfigurationError

CONFIG: Any = {"configurable": {"thread_id": "thread"}}
NAIVE = datetime(2025, 11, 29)  # noqa: DTZ001 - that is what is wrong with it


def at(**configurable: Any) -> Any:
    return {"configurable": {"thread_id": "thread", **configurable}}


CALLS: dict[str, tuple[Callable[[LedgerSaver], Any], str]] = {
    "no config": (lambda s: s.get_tuple(None), "names no thread"),  # type: ignore[arg-type]  - what is wrong
    "an id as config": (lambda s: s.get_tuple("thread"), "names no thread"),  # type: ignore[arg-type]  - what is wrong
    "id is a list": (lambda s: s.get_tuple(at(checkpoint_id=["a"])), "not a list"),
    "id is a number": (lambda s: s.get_tuple(at(checkpoint_id=5)), "not 5"),
    "id is too long": (lambda s: s.get_tuple(at(checkpoint_id="i" * 501)), "500 bytes"),
    "namespace is too long": (lambda s: s.get_tuple(at(checkpoint_ns="n" * 1601)), "1600 bytes"),
    "limit is text": (lambda s: list(s.list(CONFIG, limit="3")), "limit must be a whole number"),  # type: ignore[arg-type]  - what is wrong
    "filter is text": (lambda s: list(s.list(CONFIG, filter="run")), "filter must be a dict"),  # type: ignore[arg-type]  - what is wrong
    "one thread": (lambda s: s.prune("thread"), "thread_ids must be a sequence"),
    "no threads": (lambda s: s.prune(None), "thread_ids must be a sequence"),  # type: ignore[arg-type]  - what is wrong
    "unknown strategy": (lambda s: s.prune(["thread"], strategy="all"), "keep_latest, delete"),
    "one run": (lambda s: s.delete_for_runs("run"), "run_ids must be a sequence"),
    "a run nobody has": (lambda s: s.delete_for_runs(["nul \x00"]), "each of run_ids holds a NUL"),
    "a time without zone": (lambda s: next(s.idle_threads(before=NAIVE)), "time with its zone"),
    "no time": (lambda s: next(s.idle_threads(before="1d")), "time with its zone"),  # type: ignore[arg-type]  - what is wrong
}


class Unspeakable:
    """Has no text."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def put(saver: LedgerSaver, **other: Any) -> None:
    given = {"checkpoint": empty_checkpoint(), "metadata": {}, "new_versions": {}, **other}
    saver.put(CONFIG, **given)


CALLS |= {
    "a thread without text": (lambda s: s.delete_thread(Unspeakable()), "not a Unspeakable"),  # type: ignore[arg-type]  - what is wrong
    "a number without text": (lambda s: s.get_tuple(at(thread_id=10**5000)), "than 19 digits"),
    "a run without text": (lambda s: s.delete_for_runs([Unspeakable()]), "not a Unspeakable"),  # type: ignore[list-item]  - what is wrong
    "one channel": (
        lambda s: s.get_delta_channel_history(config=CONFIG, channels="messages"),
        "channels must be a sequence",
    ),
    "no checkpoint": (lambda s: put(s, checkpoint=["a"]), "empty_checkpoint"),
    "a checkpoint without id": (lambda s: put(s, checkpoint={}), "with channel_values"),
    "metadata is text": (lambda s: put(s, metadata="loop"), "metadata must be a dict"),
    "versions are a list": (lambda s: put(s, new_versions=["a"]), "new_versions must be a dict"),
}


@pytest.mark.parametrize(("call", "said"), CALLS.values(), ids=CALLS.keys())
def test_what_cannot_be_meant_is_told(
    call: Callable[[LedgerSaver], Any], said: str, saver: LedgerSaver
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        call(saver)


@pytest.mark.parametrize("given", ["postgresql://localhost/app", None, object()])
def test_a_checkpointer_is_made_of_an_open_database(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="from_conn_string"):
        LedgerSaver(given)


@pytest.mark.parametrize("given", ["x", 5, object(), JsonPlusSerializer])
def test_a_serde_is_a_serialiser(given: Any, database: Database) -> None:
    with pytest.raises(ConfigurationError, match="serde must be a serialiser"):
        LedgerSaver(database, serde=given)
    with pytest.raises(ConfigurationError, match="serde must be a serialiser"):
        Ledger(database).checkpointer(serde=given)
    assert Ledger(database).checkpointer(serde=pickle).get_tuple(CONFIG) is None  # type: ignore[arg-type]  - LangGraph adapts it


@pytest.mark.parametrize("size", [-1, "128 MB", None])
def test_the_cache_is_a_number_of_bytes(size: Any, database: Database) -> None:
    with pytest.raises(ConfigurationError, match="cache_bytes"):
        LedgerSaver(database, cache_bytes=size)


def test_a_run_that_the_index_cannot_hold_is_found(put: Any, saver: LedgerSaver) -> None:
    config = put({"a": 1}, metadata={"run_id": "half \ud800"})
    put({"a": 2}, parent=config, metadata={"run_id": "another"})
    for where in (CONFIG, None):
        assert [t.config for t in saver.list(where, filter={"run_id": "half \ud800"})] == [config]
        # LangGraph takes NULs out of metadata.
        assert list(saver.list(where, filter={"run_id": "nul \x00"})) == []


def test_the_longest_names_fit_into_the_index(database: Database) -> None:
    names = {"checkpoint_ns": os.urandom(800).hex(), "thread_id": os.urandom(2000).hex()}
    saver = LedgerSaver(database, tenant=os.urandom(250).hex())
    checkpoint: Any = {
        "v": 4,
        "id": os.urandom(249).hex(),
        "ts": "whenever",
        "channel_values": {},
        "channel_versions": {},
        "versions_seen": {},
    }
    config = saver.put({"configurable": names}, checkpoint, {}, {})
    found = saver.get_tuple(config)
    assert found is not None
    assert found.config == config
    checkpoint["id"] = str(uuid6())
    child = saver.put(config, checkpoint, {}, {})
    assert [t.config for t in saver.list({"configurable": names})] == [config, child]
