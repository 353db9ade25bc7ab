"""Operations that read: one checkpoint, or pages of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    writes_sort_key,
)

from langledger.checkpoint.cache import Cache, Head, Shelf, StoredItem, ThreadItems
from langledger.checkpoint.decoding import Decoder
from langledger.checkpoint.keys import Target, pack_id, unpack_id, unpack_time
from langledger.checkpoint.records import (
    Skeleton,
    unpack_body,
    unpack_seqs,
    unpack_writes,
)
from langledger.checkpoint.sealing import Sealing
from langledger.checkpoint.tree import resolve
from langledger.database.queries import load_queries
from langledger.errors import SerializationError
from langledger.operations import Operation, Row, fetch

__all__ = [
    "Stored",
    "find",
    "find_head",
    "load",
    "metadata_of",
    "pending_writes",
    "read",
    "skeleton_of",
    "tuple_of",
]

_queries = load_queries("langledger.checkpoint")

_ALL: dict[str, Any] = dict.fromkeys(
    ("nss", "ids", "channels", "checkpoint_ns", "before", "after_id", "after_ns", "limit")
)
_NOTHING = Head({}, {})


@dataclass(slots=True)
class Stored:
    """A checkpoint as its rows hold it.

    Attributes:
        target: Thread, namespace and id.
        row: Of part 0.
        writes: Of all parts, in order.
    """

    target: Target
    row: Row
    writes: list[bytes] = field(default_factory=list[bytes])

    @property
    def is_visible(self) -> bool:
        """Whether it is a checkpoint, and not what is left of one for its descendants."""
        return self.row["what"] == "checkpoint"

    @property
    def parent(self) -> Target | None:
        """The checkpoint it was made from."""
        packed = self.row["parent_id"]
        return None if packed is None else self.target.at(unpack_id(packed))


def read(cache: Cache, target: Target, **which: Any) -> Operation[tuple[ThreadItems, list[Stored]]]:
    """Read checkpoints, and what entries and layouts they need beyond those known.

    Args:
        cache: What is known.
        target: The thread.
        which: Parameters of ``read_checkpoints`` that say which.
    """
    key = target.location.keys["thread_key"]
    items = cache.items(key)
    rows = yield from fetch(
        _queries["read"],
        **{
            **_ALL,
            **target.location.keys,
            "generation": items.generation,
            "have": items.have(),
            "layouts": list(cache.layouts),
            **which,
        },
    )
    if not rows:
        return items, []
    items = cache.renewed(key, items, rows[0]["number"])
    stored = list(_sorted_in(cache, items, target, rows))
    cache.trim()
    return items, stored


def find(cache: Cache, target: Target) -> Operation[tuple[ThreadItems, Stored | None]]:
    """Read one checkpoint, or without id the latest of the namespace."""
    if target.checkpoint_id is None:
        which: dict[str, Any] = {"checkpoint_ns": target.checkpoint_ns, "limit": 1}
    else:
        which = {"nss": [target.checkpoint_ns], "ids": [pack_id(target.checkpoint_id)]}
    items, found = yield from read(cache, target, **which)
    return items, next((stored for stored in found if stored.is_visible), None)


def load(cache: Cache, sealing: Sealing, target: Target) -> Operation[CheckpointTuple | None]:
    """Return one checkpoint, or without id the latest of the namespace."""
    items, stored = yield from find(cache, target)
    return None if stored is None else tuple_of(cache, items, sealing, stored)


def find_head(
    cache: Cache, items: ThreadItems, target: Target
) -> Operation[tuple[ThreadItems, Head]]:
    """Return what a child of this checkpoint may inherit; nothing where there is none."""
    if target.checkpoint_id is None:
        return items, _NOTHING
    known = items.head(target.checkpoint_ns, target.checkpoint_id)
    if known is not None:
        return items, known
    rows = yield from fetch(
        _queries["head"], **target.keys, checkpoint_id=pack_id(target.checkpoint_id)
    )
    if not rows:
        return items, _NOTHING
    row = rows[0]
    items = cache.renewed(target.location.keys["thread_key"], items, row["generation"])
    if row["body"] is None:
        return items, _NOTHING
    if row["number"] is not None:
        cache.layouts[row["number"]] = row["layout_body"]
    return items, _learn_head(items, target, skeleton_of(cache, row))


def skeleton_of(cache: Cache, row: Row) -> Skeleton:
    """Return what a checkpoint's row holds, names and nodes.

    Raises:
        SerializationError: It cannot be read back.
    """
    number = row["number"]
    if number is not None and number not in cache.layouts:
        raise SerializationError(f"the layout of a checkpoint is not there (number {number})")
    seqs, at = unpack_seqs(row["body"])
    layout = None if number is None else cache.layouts[number]
    return unpack_body(layout, row["body"][at:]).resolved(seqs)


def tuple_of(cache: Cache, items: ThreadItems, sealing: Sealing, stored: Stored) -> CheckpointTuple:
    """Return a checkpoint as LangGraph takes it.

    Raises:
        SerializationError: It cannot be read back.
    """
    skeleton = skeleton_of(cache, stored.row)
    decoder = Decoder(sealing, Shelf(cache, items, sealing))
    assert stored.target.checkpoint_id is not None  # noqa: S101 - a row has its id
    _learn_head(items, stored.target, skeleton)
    fields = {name: decoder.decode(node) for name, node in skeleton.fields.items()}
    if fields.get("ts", True) is None:
        fields["ts"] = unpack_time(stored.row["created_at"])
    checkpoint = {
        **fields,
        **skeleton.versions,
        "id": stored.target.checkpoint_id,
        "channel_values": {name: decoder.decode(node) for name, node in skeleton.channels.items()},
    }
    return CheckpointTuple(
        config=stored.target.config,
        checkpoint=cast("Checkpoint", checkpoint),
        metadata=metadata_of(skeleton, decoder),
        parent_config=None if stored.parent is None else stored.parent.config,
        pending_writes=list(pending_writes(stored, decoder)),
    )


def metadata_of(skeleton: Skeleton, decoder: Decoder) -> CheckpointMetadata:
    """Return a checkpoint's metadata."""
    metadata: dict[str, Any] = {}
    for key, node in skeleton.metadata.items():
        value = decoder.decode(node)
        metadata |= value if key is None else {key: value}
    return cast("CheckpointMetadata", metadata)


def pending_writes(
    stored: Stored, decoder: Decoder, *, channels: Collection[str] | None = None
) -> Iterator[PendingWrite]:
    """Iterate over the writes pending on a checkpoint, in the order live execution applies them.

    Args:
        stored: The checkpoint.
        decoder: Of its values.
        channels: Only the writes to these.
    """
    kept: dict[tuple[str, int], tuple[tuple[str, str, int], str, Any]] = {}
    for seqs, task in (written for data in stored.writes for written in unpack_writes(data)):
        for place, (channel, node) in enumerate(task.writes):
            index = WRITES_IDX_MAP.get(channel, place)
            # The first of a task's writes wins, of the special ones (below zero) the last.
            if index < 0 or (task.task_id, index) not in kept:
                order = writes_sort_key(task.task_path, task.task_id, index)
                kept[task.task_id, index] = order, channel, resolve(node, seqs)
    for (_, task_id, _), channel, node in sorted(kept.values(), key=lambda write: write[0]):
        if channels is None or channel in channels:
            yield task_id, channel, decoder.decode(node)


def _learn_head(items: ThreadItems, target: Target, skeleton: Skeleton) -> Head:
    head = Head(skeleton.versions.get("channel_versions") or {}, skeleton.channels)
    if target.checkpoint_id is not None:
        items.add_head(target.checkpoint_ns, target.checkpoint_id, head)
    return head


def _sorted_in(
    cache: Cache, items: ThreadItems, target: Target, rows: Sequence[Row]
) -> Iterator[Stored]:
    """Learn what the rows say, and yield the checkpoints among them."""
    current: Stored | None = None
    for row in rows:
        if row["what"] == "entry":
            item = StoredItem(row["name"], row["message_id"], row["body"])
            items.add(row["number"], item, row["id"])
        elif row["what"] == "layout":
            cache.layouts[row["number"]] = row["body"]
        elif row["what"] == "part" and current is not None:
            current.writes.append(row["writes"])
        elif row["what"] in ("checkpoint", "hidden"):
            place = Target(target.location, row["name"], unpack_id(row["id"]))
            current = Stored(place, row, [row["writes"]] if row["writes"] else [])
            yield current
