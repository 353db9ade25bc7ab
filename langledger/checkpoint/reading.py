"""Operations that read checkpoints."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, cast

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
from langledger.checkpoint.keys import Target, pack_id
from langledger.checkpoint.records import (
    Kind,
    Record,
    Skeleton,
    layout_numbers,
    read_log,
    skeleton_of,
    writes_of,
)
from langledger.checkpoint.sealed_logs import open_log
from langledger.checkpoint.sealing import Sealing
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.operations import Operation, Query, Row, fetch, fetch_all

__all__ = [
    "Stored",
    "find",
    "find_head",
    "load",
    "load_layouts",
    "metadata_of",
    "newest",
    "pending_writes",
    "read",
    "sorted_out",
    "tuple_of",
]

_queries = load_queries("langledger.checkpoint")

_NOTHING = Head({}, {})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHICH = dict.fromkeys(("nss", "ids", "checkpoint_ns", "before", "limit", "channels"))

# Namespace and id.
Key: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class Stored:
    """What the logs hold of a checkpoint.

    Attributes:
        target: Thread, namespace and id.
        record: The checkpoint itself; None while only writes are there.
        writes: In the order they came.
        hidden: It was pruned, and is kept for its descendants' delta channels.
        orphan: Its parent is gone.
    """

    target: Target
    record: Record | None = None
    writes: list[Record] = field(default_factory=list[Record])
    hidden: bool = False
    orphan: bool = False

    @property
    def key(self) -> Key:
        """Its namespace and id."""
        assert self.target.checkpoint_id is not None  # noqa: S101 - a record names its checkpoint
        return self.target.checkpoint_ns, self.target.checkpoint_id

    @property
    def is_visible(self) -> bool:
        """Whether it is there for LangGraph."""
        return self.record is not None and not self.hidden

    @property
    def parent(self) -> Target | None:
        """The checkpoint it was made from."""
        parent_id = None if self.record is None or self.orphan else self.record.details.other_id
        return None if parent_id is None else self.target.at(parent_id)

    @property
    def records(self) -> list[Record]:
        """All its records but marks."""
        return [*([] if self.record is None else [self.record]), *self.writes]

    def add(self, record: Record) -> None:
        """Add what a record says."""
        if record.kind == Kind.CHECKPOINT:
            self.record, self.hidden, self.orphan = record, False, False
        elif record.kind == Kind.WRITES:
            self.writes.append(record)
        else:
            self.hidden |= record.kind == Kind.HIDDEN
            self.orphan |= record.kind == Kind.ORPHAN


def sorted_out(location: Location, logs: Iterable[tuple[str, bytes]]) -> dict[Key, Stored]:
    """Return the checkpoints in logs, each given with its namespace."""
    found: dict[Key, Stored] = {}
    for checkpoint_ns, log in logs:
        for record in read_log(log):
            key = checkpoint_ns, record.checkpoint_id
            if key not in found:
                found[key] = Stored(Target(location, checkpoint_ns, record.checkpoint_id))
            found[key].add(record)
    return found


def read(
    cache: Cache,
    target: Target,
    *,
    items: ThreadItems | None = None,
    entries: bool = True,
    **which: Any,
) -> Operation[tuple[ThreadItems, list[Row]]]:
    """Read stretches of a log, newest first, and the entries they need beyond those known.

    Args:
        cache: What is known.
        target: The thread.
        items: What earlier reads of the same call returned.
        entries: Read entries too.
        which: Parameters of ``read_checkpoints`` that say which.
    """
    keys = target.location.keys
    items = items or cache.items(keys["thread_key"])
    which = {
        **_WHICH,
        **keys,
        "generation": items.generation,
        "have": items.have() if entries else None,
        **which,
    }
    (rows,) = yield from fetch_all(Query(_queries["read"], which, reads=open_log))
    if not rows:
        return items, []
    items = cache.renewed(keys["thread_key"], items, rows[0]["number"])
    for row in rows:
        if row["what"] == "entry":
            item = StoredItem(row["name"], row["message_id"], row["body"])
            items.add(row["number"], item, row["id"])
    cache.trim(keys["thread_key"])
    return items, [row for row in rows if row["what"] == "stretch"]


def find(
    cache: Cache, target: Target, *, entries: bool = True
) -> Operation[tuple[ThreadItems, Stored | None]]:
    """Read one checkpoint, or without id the latest of the namespace."""
    if target.checkpoint_id is None:
        items, found = yield from newest(
            cache, target.location, checkpoint_ns=target.checkpoint_ns, count=1
        )
        return items, found[0] if found else None
    items, rows = yield from read(
        cache,
        target,
        entries=entries,
        nss=[target.checkpoint_ns],
        ids=[pack_id(target.checkpoint_id)],
    )
    stored = sorted_out(target.location, logs_in(rows)).get(
        (target.checkpoint_ns, target.checkpoint_id)
    )
    if stored is None or not stored.is_visible:
        return items, None
    yield from load_layouts(cache, target.location.tenant, stored.records)
    return items, stored


def newest(
    cache: Cache,
    location: Location,
    *,
    checkpoint_ns: str | None,
    count: int,
    before: str | None = None,
) -> Operation[tuple[ThreadItems, list[Stored]]]:
    """Read the newest checkpoints of a thread, newest first.

    Args:
        cache: What is known.
        location: The thread.
        checkpoint_ns: Of this namespace; None for any.
        count: At least so many, if they are there; more where several have the last one's id.
        before: Only those older than this id.
    """
    bound = None if before is None else pack_id(before)
    limit = 1 if count == 1 else 2 + count // _STRETCH
    items: ThreadItems | None = None
    while True:
        target = Target(location, checkpoint_ns or "", None)
        items, rows = yield from read(
            cache, target, items=items, checkpoint_ns=checkpoint_ns, before=bound, limit=limit
        )
        floor = _known_from(rows, limit, by_end=checkpoint_ns is None)
        found = [
            (pack_id(stored.key[1]), stored.key[0], stored)
            for stored in sorted_out(location, logs_in(rows)).values()
            if stored.is_visible
        ]
        found = [f for f in found if f[0] >= floor and (bound is None or f[0] < bound)]
        found.sort(key=lambda f: f[:2], reverse=True)
        if not floor or len(found) >= count:
            break
        limit *= 2
    last = found[count - 1][0] if len(found) >= count else b""
    stored = [s for packed, _, s in found if packed >= last]
    yield from load_layouts(cache, location.tenant, [r for s in stored for r in s.records])
    return items, stored


def _known_from(rows: Sequence[Row], limit: int, *, by_end: bool) -> bytes:
    """Return the id from which on stretches hold all checkpoints there are; empty for all."""
    ends: dict[tuple[str, bytes], bytes] = {}
    for row in rows:
        key = row["name"], row["id"]
        ends[key] = max(ends.get(key, b""), row["last_id"])
    if len(ends) < limit:
        return b""
    return min(ends.values()) if by_end else min(first_id for _, first_id in ends)


# How many checkpoints a stretch holds at least, mostly. What is read in vain are a few entries: the
# checkpoints of a thread share nearly all of theirs.
_STRETCH = 2


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
    items, stored = yield from find(cache, target, entries=False)
    if stored is None or stored.record is None:
        return items, _NOTHING
    return items, _learn_head(items, stored, skeleton_of(stored.record, cache.layouts))


def load_layouts(cache: Cache, tenant: str, records: Sequence[Record]) -> Operation[None]:
    """Read the layouts of records that are not known yet."""
    missing = layout_numbers(records) - cache.layouts.keys()
    if missing:
        rows = yield from fetch(_queries["layouts"], tenant=tenant, layouts=sorted(missing))
        cache.layouts.update({row["layout"]: row["body"] for row in rows})


def tuple_of(cache: Cache, items: ThreadItems, sealing: Sealing, stored: Stored) -> CheckpointTuple:
    """Return a checkpoint as LangGraph takes it.

    Raises:
        SerializationError: It cannot be read back.
    """
    assert stored.record is not None  # noqa: S101 - callers pass visible ones
    skeleton = skeleton_of(stored.record, cache.layouts)
    _learn_head(items, stored, skeleton)
    decoder = Decoder(sealing, Shelf(items, sealing))
    fields = {name: decoder.decode(node) for name, node in skeleton.fields.items()}
    if fields.get("ts", True) is None:
        fields["ts"] = (_EPOCH + timedelta(microseconds=stored.record.details.time)).isoformat()
    checkpoint = {
        **fields,
        **skeleton.versions,
        "id": stored.key[1],
        "channel_values": {n: decoder.decode(node) for n, node in skeleton.channels.items()},
    }
    return CheckpointTuple(
        config=stored.target.config,
        checkpoint=cast("Checkpoint", checkpoint),
        metadata=metadata_of(skeleton, decoder),
        parent_config=None if stored.parent is None else stored.parent.config,
        pending_writes=list(pending_writes(stored, cache, decoder)),
    )


def metadata_of(skeleton: Skeleton, decoder: Decoder) -> CheckpointMetadata:
    """Return a checkpoint's metadata."""
    metadata: dict[str, Any] = {}
    for key, node in skeleton.metadata.items():
        value = decoder.decode(node)
        metadata |= value if key is None else {key: value}
    return cast("CheckpointMetadata", metadata)


def pending_writes(
    stored: Stored, cache: Cache, decoder: Decoder, *, channels: Collection[str] | None = None
) -> Iterator[PendingWrite]:
    """Iterate over the writes pending on a checkpoint, in the order live execution applies them.

    Args:
        stored: The checkpoint.
        cache: Has the layouts.
        decoder: Of its values.
        channels: Only the writes to these.
    """
    kept: dict[tuple[str, int], tuple[tuple[str, str, int], str, Any]] = {}
    for record in stored.writes:
        task = writes_of(record, cache.layouts)
        for place, (channel, node) in enumerate(task.writes):
            index = WRITES_IDX_MAP.get(channel, place)
            # The first of a task's writes wins, of the special ones (below zero) the last.
            if index < 0 or (task.task_id, index) not in kept:
                order = writes_sort_key(task.task_path, task.task_id, index)
                kept[task.task_id, index] = order, channel, node
    for (_, task_id, _), channel, node in sorted(kept.values(), key=lambda write: write[0]):
        if channels is None or channel in channels:
            yield task_id, channel, decoder.decode(node)


def logs_in(rows: Iterable[Row]) -> Iterator[tuple[str, bytes]]:
    """Iterate over the logs in rows, with their namespaces."""
    return ((row["name"], row["body"]) for row in rows)


def _learn_head(items: ThreadItems, stored: Stored, skeleton: Skeleton) -> Head:
    versions = cast("Mapping[str, Any]", skeleton.versions.get("channel_versions") or {})
    head = Head(versions, skeleton.channels)
    items.add_head(*stored.key, head)
    return head
