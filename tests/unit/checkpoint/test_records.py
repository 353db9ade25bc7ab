"""Logs of records: what was packed comes back, what is damaged is refused."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.base.id import uuid6

from langledger.checkpoint.records import (
    Kind,
    Skeleton,
    TaskWrites,
    join,
    layout_of_checkpoint,
    layout_of_writes,
    pack_checkpoint,
    pack_mark,
    pack_writes,
    read_log,
    skeleton_of,
    split,
    writes_of,
)
from langledger.errors import SerializationError

SKELETON = Skeleton(
    versions={
        "channel_versions": {"messages": 3, "files": 2},
        "versions_seen": {"llm": {"messages": 2}, "__input__": {}},
        "updated_channels": ["files", "gone"],
    },
    fields={"v": 4, "ts": None},
    channels={"messages": [2, 1, 40], "files": {}},
    metadata={"source": "loop", "step": 7, "parents": {}},
)


def stored(record: bytes, seqs: tuple[int, ...] = ()) -> bytes:
    """A record as the database puts it into the log."""
    return bytes([len(seqs)]) + b"".join(seq.to_bytes(4, "big") for seq in seqs) + record


def test_a_checkpoint_comes_back() -> None:
    own, parent = str(uuid6()), str(uuid6())
    layout, values = layout_of_checkpoint(SKELETON)
    log = stored(pack_checkpoint(own, parent, 1_700_000_000_000_000, 5, values))
    (record,) = read_log(log)
    assert (record.kind, record.checkpoint_id) == (Kind.CHECKPOINT, own)
    assert (record.details.other_id, record.details.time) == (parent, 1_700_000_000_000_000)
    assert record.raw == log
    assert skeleton_of(record, {5: layout.body}) == SKELETON


def test_a_step_of_a_small_graph_takes_less_than_a_hundred_bytes() -> None:
    _, values = layout_of_checkpoint(SKELETON)
    assert len(stored(pack_checkpoint(str(uuid6()), str(uuid6()), 0, 5, values))) < 100


def test_the_same_names_are_the_same_layout() -> None:
    other = Skeleton(
        SKELETON.versions | {"channel_versions": {"messages": 9, "files": 8}},
        SKELETON.fields,
        {"messages": None, "files": {}},
        {"source": "input", "step": 1, "parents": {}},
    )
    assert layout_of_checkpoint(SKELETON)[0] == layout_of_checkpoint(other)[0]


def test_a_layout_may_stand_in_the_record() -> None:
    layout, values = layout_of_checkpoint(SKELETON)
    (record,) = read_log(stored(pack_checkpoint("a", None, 0, layout.body, values)))
    assert record.details.other_id is None
    assert skeleton_of(record, {}) == SKELETON


def test_writes_come_back_with_their_new_entries() -> None:
    task = TaskWrites("task", "~__pregel_pull, llm", [("messages", [2, -1, 2]), ("branch", None)])
    layout, values = layout_of_writes(task)
    (record,) = read_log(stored(pack_writes("c", "task", 9, values), (17, 18)))
    assert record.seqs == [17, 18]
    found = writes_of(record, {9: layout.body})
    assert found.writes == [("messages", [2, 17, 2]), ("branch", None)]
    assert (found.task_id, found.task_path) == ("task", "~__pregel_pull, llm")


def test_a_log_holds_its_records_in_order() -> None:
    _, values = layout_of_checkpoint(SKELETON)
    ids = [str(uuid6()) for _ in range(20)]
    log = b"".join(stored(pack_checkpoint(own, None, 0, 1, values)) for own in ids)
    log += pack_mark(Kind.HIDDEN, ids[3])
    records = list(read_log(log))
    assert [record.checkpoint_id for record in records] == [*ids, ids[3]]
    assert b"".join(record.raw for record in records) == log


@pytest.mark.parametrize("cut", [1, 5, 20, -1])
def test_a_damaged_log_is_refused(cut: int) -> None:
    _, values = layout_of_checkpoint(SKELETON)
    log = stored(pack_checkpoint(str(uuid4()), None, 0, 1, values), (1, 2))
    with pytest.raises(SerializationError, match="cannot be read back"):
        list(read_log(log[:cut]))


def test_damaged_details_are_refused_when_they_are_asked_for() -> None:
    whole = pack_checkpoint(str(uuid4()), str(uuid4()), 0, 1, b"")
    (record,) = read_log(stored(bytes([20]) + whole[1:21]))
    with pytest.raises(SerializationError, match="cannot be read back"):
        record.details  # noqa: B018 - read when first asked for


def test_a_missing_layout_is_told() -> None:
    _, values = layout_of_checkpoint(SKELETON)
    (record,) = read_log(stored(pack_checkpoint("a", None, 0, 5, values)))
    with pytest.raises(SerializationError, match="layout 5"):
        skeleton_of(record, {})


TREES = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=4)
)


@given(st.dictionaries(st.text(max_size=3), TREES, max_size=4), st.integers(1, 5))
def test_a_tree_is_its_names_and_values(tree: dict[str, Any], depth: int) -> None:
    names, values = split(tree, depth)
    assert join(names, iter(values)) == tree
