"""Operations that write: a checkpoint, or the writes pending on one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from langgraph.checkpoint.base import ChannelVersions, Checkpoint
from langgraph.checkpoint.serde.types import TASKS

from langledger.checkpoint.cache import Cache, Head, Stage, ThreadItems, multirange
from langledger.checkpoint.encoding import Encoder
from langledger.checkpoint.intake import Gathered, NewItem
from langledger.checkpoint.keys import Target, pack_id, pack_time
from langledger.checkpoint.reading import find_head
from langledger.checkpoint.records import (
    Layout,
    Skeleton,
    TaskWrites,
    layout_of_checkpoint,
    layout_of_writes,
    pack_checkpoint,
    pack_writes,
)
from langledger.checkpoint.sealed_logs import seal_of
from langledger.checkpoint.sealing import Sealing
from langledger.checkpoint.tree import (
    FIRST_VALUE,
    Node,
    Tag,
    map_leaves,
    references,
    resolve,
)
from langledger.database.queries import load_queries
from langledger.encryption import Later, contents, named
from langledger.encryption.places import ENTRY_BODY
from langledger.entries.codec import has_lone_surrogate
from langledger.errors import DatabaseError
from langledger.operations import Operation, Query, fetch, fetch_all
from langledger.telemetry import traced

__all__ = ["RECORD", "put", "put_writes"]

_queries = load_queries("langledger.checkpoint")

# The statement that writes; calls of it that wait at the same time are combined.
RECORD = _queries["record"]

# What one statement carries at most; a larger write sends its entries first, in several.
_MOST_ITEMS = 250
_MOST_BYTES = 8 << 20
# A write starts over when entries were deleted (by pruning) since it learned what is there.
_TRIES = 20
# Names that change from checkpoint to checkpoint would fill the table of layouts.
_MOST_LAYOUTS = 500

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# How the paths of tasks begin that run for an edge, as they do again and again.
_RECURRING = "~__pregel_pull"

# LangGraph's own channels, whose messages may not have their ids yet.
_STAGES = {"__start__": Stage.INPUT, TASKS: Stage.WRITTEN}

_VERSIONS = ("channel_versions", "versions_seen", "updated_channels")


def _told(_: object, __: object, target: Target, **___: object) -> Mapping[str, Any]:
    place = target.location
    return {"gen_ai.conversation.id": place.thread_id, "langledger.checkpoint_ns": place.scope}


@traced("langledger.checkpoint.put", _told)
def put(
    cache: Cache,
    sealing: Sealing,
    target: Target,
    *,
    checkpoint: Checkpoint,
    metadata: Mapping[str, Any],
    new_versions: ChannelVersions,
) -> Operation[None]:
    """Store a checkpoint; ``target`` is its parent.

    Raises:
        SerializationError: A value cannot be stored; nothing is written.
    """
    own = target.at(checkpoint["id"])
    for _ in range(_TRIES):
        items = cache.items(target.location.keys["thread_key"])
        parent = Head({}, {})
        if checkpoint["channel_versions"].keys() - new_versions.keys():
            items, parent = yield from find_head(cache, items, target)
        gathered = Gathered(items, sealing)
        channels = _channels(sealing, gathered, checkpoint, new_versions, parent)
        skeleton = _skeleton(sealing, gathered, checkpoint, metadata, channels)
        sent = yield from _send_ahead(cache, own, items, gathered)
        if sent is None:
            continue
        skeleton = skeleton.resolved(sent)
        record = yield from _checkpoint_record(cache, target, checkpoint, skeleton)
        seqs = yield from _record(
            cache,
            own,
            items,
            [] if sent else gathered.new,
            refs=_refs(skeleton.nodes()),
            record=record,
            after=_known_until(target, channels),
            run_id=_run_id(metadata),
            snapshots=_snapshots(channels, metadata),
        )
        if seqs is not None:
            gathered.learn(sent or seqs)
            nodes = {name: resolve(node, seqs) for name, node in skeleton.channels.items()}
            items.add_head(
                own.checkpoint_ns, checkpoint["id"], Head(checkpoint["channel_versions"], nodes)
            )
            return
    raise DatabaseError(_RESTLESS)


_RESTLESS = (
    "the thread's entries were deleted again and again while this was written: "
    "prune less often, or after the run"
)


@traced("langledger.checkpoint.put_writes", _told)
def put_writes(
    cache: Cache,
    sealing: Sealing,
    target: Target,
    *,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
) -> Operation[None]:
    """Store what a task wrote; ``target`` is the checkpoint it ran on.

    Raises:
        SerializationError: A value cannot be stored; nothing is written.
    """
    for _ in range(_TRIES):
        items = cache.items(target.location.keys["thread_key"])
        gathered = Gathered(items, sealing)
        encoder = Encoder(sealing, gathered, Stage.WRITTEN)
        nodes = [(channel, encoder.encode(value)) for channel, value in writes]
        sent = yield from _send_ahead(cache, target, items, gathered)
        if sent is None:
            continue
        nodes = [(channel, resolve(node, sent) if sent else node) for channel, node in nodes]
        task = TaskWrites(task_id, task_path, nodes)
        seqs = yield from _record(
            cache,
            target,
            items,
            [] if sent else gathered.new,
            refs=_refs(node for _, node in nodes),
            record=(yield from _writes_record(cache, target, task)),
        )
        if seqs is not None:
            gathered.learn(sent or seqs)
            return
    raise DatabaseError(_RESTLESS)


def _channels(
    sealing: Sealing,
    gathered: Gathered,
    checkpoint: Checkpoint,
    new_versions: ChannelVersions,
    parent: Head,
) -> dict[str, Node]:
    """Return the node of each channel that has a value.

    A channel whose version is not new has the value it had at that version, also when the
    graph does not know it any more and gives none.
    """
    versions, values = checkpoint["channel_versions"], checkpoint["channel_values"]
    nodes: dict[str, Node] = {}
    for name in {**versions, **values}:
        known = name not in new_versions and name in parent.versions
        if known and parent.versions[name] == versions.get(name):
            if name in parent.channels:
                nodes[name] = map_leaves(parent.channels[name], gathered.kept)
        elif name in values:
            encoder = Encoder(sealing, gathered, _STAGES.get(name, Stage.SETTLED))
            nodes[name] = encoder.encode(values[name])
    return nodes


def _skeleton(
    sealing: Sealing,
    gathered: Gathered,
    checkpoint: Checkpoint,
    metadata: Mapping[str, Any],
    channels: dict[str, Node],
) -> Skeleton:
    encoder = Encoder(sealing, gathered, Stage.WRITTEN)
    rest = {
        name: value
        for name, value in cast("Mapping[str, Any]", checkpoint).items()
        if name not in (*_VERSIONS, "id", "channel_values")
    }
    fields = {name: encoder.encode(value) for name, value in rest.items()}
    if pack_time(rest.get("ts")) is not None:
        fields["ts"] = None  # it is the row's created_at
    return Skeleton(
        versions={n: v for n, v in cast("Any", checkpoint).items() if n in _VERSIONS},
        fields=fields,
        channels=channels,
        metadata={key: encoder.encode(value) for key, value in metadata.items()}
        if sealing.is_open
        else {None: encoder.leaf(dict(metadata))},
    )


def _send_ahead(
    cache: Cache, target: Target, items: ThreadItems, gathered: Gathered
) -> Operation[list[int] | None]:
    """Write the new entries by themselves if they are too much for one statement.

    Returns:
        Their seqs; empty if there was no need; None if the write has to start over.
    """
    batches = list(gathered.batches(items=_MOST_ITEMS, size=_MOST_BYTES))
    if len(batches) < 2:
        return []
    sent: list[int] = []
    for batch in batches:
        seqs = yield from _record(cache, target, items, batch)
        if seqs is None:
            return None
        sent += seqs
    return sent


def _checkpoint_record(
    cache: Cache, parent: Target, checkpoint: Checkpoint, skeleton: Skeleton
) -> Operation[Later]:
    layout, values = layout_of_checkpoint(skeleton)
    layout_name = yield from _named(cache, parent.location.tenant, layout)
    time = (pack_time(checkpoint.get("ts")) or datetime.now(UTC)) - _EPOCH
    moment = time // timedelta(microseconds=1)
    what = (checkpoint["id"], parent.checkpoint_id, moment, layout_name, values)
    return Later(
        lambda vault: pack_checkpoint(*what, seal=seal_of(vault, parent.keys)), writes=True
    )


def _writes_record(cache: Cache, target: Target, task: TaskWrites) -> Operation[Later]:
    checkpoint_id = target.checkpoint_id
    assert checkpoint_id is not None  # noqa: S101 - writes belong to a checkpoint
    layout, values = layout_of_writes(task)
    # The path of a task that was sent (map-reduce) names its place in a list: too many to keep.
    recurs = task.task_path.startswith(_RECURRING) or not task.task_path
    tenant = target.location.tenant
    layout_name = (yield from _named(cache, tenant, layout)) if recurs else layout.body
    what = (checkpoint_id, task.task_id, layout_name, values)
    return Later(lambda vault: pack_writes(*what, seal=seal_of(vault, target.keys)), writes=True)


def _named(cache: Cache, tenant: str, layout: Layout) -> Operation[int | bytes]:
    """Return the number of a layout, which is stored now if it is new; itself if they are many."""
    known = cache.layout_numbers.get(layout.digest)
    if known is not None:
        return known
    if len(cache.layout_numbers) >= _MOST_LAYOUTS:
        return layout.body
    parameters = {"tenant": tenant, "digest": layout.digest}
    for _ in range(_TRIES):
        _, rows = yield from fetch_all(
            Query(_queries["add_layout"], {**parameters, "body": layout.body}),
            Query(_queries["layout"], parameters),
        )
        if rows:
            number = cast("int", rows[0]["layout"])
            cache.layouts[number] = layout.body
            cache.layout_numbers[layout.digest] = number
            return number
    return layout.body


def _record(
    cache: Cache, target: Target, items: ThreadItems, new: Sequence[NewItem], **what: Any
) -> Operation[list[int] | None]:
    """Run ``record_checkpoint``.

    Returns:
        The seqs of the new entries; None if entries were deleted and the write has to start over.
    """
    names = named(item.digest for item in new)
    rows = yield from fetch(
        RECORD,
        **{
            **_NOTHING,
            **target.keys,
            "thread_id": target.location.thread_id,
            "scope": target.location.scope or None,
            "generation": items.generation,
            "checkpoint_id": None
            if target.checkpoint_id is None
            else pack_id(target.checkpoint_id),
            "kinds": [item.kind for item in new] or None,
            "digests": names or None,
            "message_ids": [item.message_id for item in new] or None,
            "roles": [item.role for item in new] or None,
            "bodies": contents(ENTRY_BODY, (item.body for item in new), digest=names) or None,
            "item_refs": [item.refs for item in new] or None,
            **what,
        },
    )
    seqs = cast("list[int] | None", rows[0]["seqs"])
    renewed = cache.renewed(target.location.keys["thread_key"], items, rows[0]["generation"])
    return seqs if renewed is items else None


_NOTHING: dict[str, Any] = {
    **dict.fromkeys(("run_id", "snapshots", "record", "after")),
    "refs": "{}",
    "wait": True,
}


def _refs(nodes: Iterable[Node]) -> str:
    """Return the entries known already that nodes refer to, as a multirange."""
    runs = (run for node in nodes for run in references(node))
    return multirange(sorted((start, count) for start, count in runs if start > 0))


def _known_until(parent: Target, channels: Mapping[str, Node]) -> int | None:
    """Return the newest message that a checkpoint's state knows; None if that cannot be told.

    What stands behind it may be the checkpoint's input, recorded by who saw it first: LangGraph
    saves the input in the background.
    """
    runs = (run for node in channels.values() for run in references(node))
    ends = [start + count - 1 for start, count in runs if 0 < start < FIRST_VALUE]
    return max(ends) if ends else 0 if parent.checkpoint_id is None else None


def _run_id(metadata: Mapping[str, Any]) -> str | None:
    run_id = metadata.get("run_id")
    if not isinstance(run_id, str) or "\x00" in run_id or has_lone_surrogate(run_id):
        return None
    return run_id


def _snapshots(channels: Mapping[str, Node], metadata: Mapping[str, Any]) -> list[str] | None:
    """Return the delta channels stored whole; None for a graph that has no delta channels."""
    whole = [
        name
        for name, node in channels.items()
        if isinstance(node, list) and cast("list[Any]", node)[0] == Tag.SNAPSHOT
    ]
    return whole if whole or "counters_since_delta_snapshot" in metadata else None
