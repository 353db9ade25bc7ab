"""Operations that list checkpoints page by page, and put delta channels together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory, PendingWrite

from langledger.checkpoint.cache import Cache, Shelf, ThreadItems
from langledger.checkpoint.decoding import Decoder
from langledger.checkpoint.keys import Target, pack_id
from langledger.checkpoint.reading import (
    Stored,
    find,
    metadata_of,
    pending_writes,
    read,
    skeleton_of,
    tuple_of,
)
from langledger.checkpoint.records import Skeleton
from langledger.checkpoint.sealing import Sealing
from langledger.checkpoint.tree import references
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.operations import Operation, Row, fetch

__all__ = ["Search", "history", "matches", "metadata_at_hand", "page"]

_queries = load_queries("langledger.checkpoint")

_PAGE = 50
_SCANNED = 500
# Ancestors read at once when a delta channel is put together.
_CHAIN = 1024


@dataclass(frozen=True, slots=True)
class Search:
    """What to list, and how far it has come.

    Attributes:
        tenant: Whose checkpoints.
        thread: The thread; None for all.
        checkpoint_ns: None for all namespaces.
        checkpoint_id: None for all.
        filter: Metadata they must have.
        before: Only older ones than this id.
        remaining: How many more to return; None for all.
        after: Id, namespace and thread key of the last one returned.
    """

    tenant: str
    thread: Location | None
    checkpoint_ns: str | None
    checkpoint_id: str | None
    filter: Mapping[str, Any]
    before: str | None
    remaining: int | None
    after: tuple[bytes, str, UUID | None] | None = None

    @classmethod
    def of(
        cls,
        tenant: str,
        config: RunnableConfig | None,
        *,
        filter: Mapping[str, Any] | None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Search:
        """Read what LangGraph passes to ``list``."""
        target = None if config is None else Target.of(tenant, config)
        older = None if before is None else (before.get("configurable") or {}).get("checkpoint_id")
        named = config is not None and "checkpoint_ns" in (config.get("configurable") or {})
        return cls(
            tenant,
            None if target is None else target.location,
            target.checkpoint_ns if target is not None and named else None,
            None if target is None else target.checkpoint_id,
            filter or {},
            older,
            limit,
        )

    def behind(self, rows: Sequence[Row], *, returned: int, asked: int) -> Search | None:
        """Return what is left to list behind rows, of which ``asked`` were asked for."""
        remaining = None if self.remaining is None else self.remaining - returned
        if len(rows) < asked or remaining == 0:
            return None
        last = rows[-1]
        return replace(
            self, remaining=remaining, after=(last["id"], last["name"], last.get("thread_key"))
        )

    def parameters(self, limit: int) -> dict[str, Any]:
        """Return the parameters that the queries have in common."""
        after_id, after_ns, after_key = self.after or (None, None, None)
        return {
            "checkpoint_ns": self.checkpoint_ns,
            "before": None if self.before is None else pack_id(self.before),
            "after_id": after_id,
            "after_ns": after_ns,
            "after_key": after_key,
            "limit": limit,
        }


def page(
    cache: Cache, sealing: Sealing, search: Search
) -> Operation[tuple[list[CheckpointTuple], Search | None]]:
    """Return some checkpoints, newest first, and what is left to list."""
    if search.remaining is not None and search.remaining <= 0:
        return [], None
    if search.thread is None or search.filter or search.checkpoint_id is not None:
        return (yield from _scanned_page(cache, sealing, search))
    limit = min(_PAGE, search.remaining or _PAGE)
    parameters = search.parameters(limit)
    del parameters["after_key"]
    items, found = yield from read(cache, Target(search.thread, "", None), **parameters)
    tuples = [tuple_of(cache, items, sealing, stored) for stored in found]
    rows = [stored.row for stored in found]
    return tuples, search.behind(rows, returned=len(tuples), asked=limit)


def history(
    cache: Cache, sealing: Sealing, target: Target, channels: Sequence[str]
) -> Operation[dict[str, DeltaChannelHistory]]:
    """Return what each delta channel is put together from, for the checkpoint ``target``.

    That is the value at the nearest ancestor that has one, and the writes since.
    """
    gathering = _History(channels)
    if target.checkpoint_id is None:
        _, latest = yield from find(cache, target)
        target = target if latest is None else latest.target
    while gathering.missing and target.checkpoint_id is not None:
        items, ancestors = yield from read(
            cache,
            target,
            nss=[target.checkpoint_ns],
            ids=[pack_id(target.checkpoint_id)],
            channels=sorted(gathering.missing),
            limit=_CHAIN,
        )
        decoder = Decoder(sealing, Shelf(cache, items, sealing))
        for ancestor in ancestors:
            gathering.add(ancestor, cache, decoder)
        if len(ancestors) < _CHAIN - 1:
            break
        target = ancestors[-1].target
    return gathering.result(channels)


class _History:
    """Writes and seeds of delta channels, gathered from the nearest ancestor on."""

    def __init__(self, channels: Sequence[str]) -> None:
        self.missing = set(channels)
        self._writes: dict[str, list[list[PendingWrite]]] = {name: [] for name in channels}
        self._seeds: dict[str, Any] = {}

    def add(self, ancestor: Stored, cache: Cache, decoder: Decoder) -> None:
        """Add an ancestor: its writes made its child, its value is what they were applied to."""
        written: dict[str, list[PendingWrite]] = {}
        for write in pending_writes(ancestor, decoder, channels=self.missing):
            written.setdefault(write[1], []).append(write)
        for name, writes in written.items():
            self._writes[name].append(writes)
        if ancestor.row["body"] is None:
            return
        nodes = skeleton_of(cache, ancestor.row).channels
        for name in self.missing & nodes.keys():
            self._seeds[name] = decoder.decode(nodes[name])
        self.missing -= nodes.keys()

    def result(self, channels: Sequence[str]) -> dict[str, DeltaChannelHistory]:
        """Return the histories, oldest write first."""
        found: dict[str, DeltaChannelHistory] = {}
        for name in channels:
            writes = [write for group in reversed(self._writes[name]) for write in group]
            found[name] = {"writes": writes}
            if name in self._seeds:
                found[name]["seed"] = self._seeds[name]
        return found


def _scanned_page(
    cache: Cache, sealing: Sealing, search: Search
) -> Operation[tuple[list[CheckpointTuple], Search | None]]:
    """Return the checkpoints among the next ones whose metadata match."""
    filtered = bool(search.filter)
    limit = _SCANNED if filtered else min(_PAGE, search.remaining or _PAGE)
    run_id = search.filter.get("run_id")
    rows = yield from fetch(
        _queries["scan"],
        **search.parameters(limit),
        tenant=search.tenant,
        thread_key=None if search.thread is None else search.thread.keys["thread_key"],
        checkpoint_id=None if search.checkpoint_id is None else pack_id(search.checkpoint_id),
        run_id=run_id if isinstance(run_id, str) else None,
        layouts=list(cache.layouts),
    )
    for row in rows:
        if row["layout_body"] is not None:
            cache.layouts[row["number"]] = row["layout_body"]
    likely = [row for row in rows if _may_match(cache, sealing, row, search.filter)]
    tuples: list[CheckpointTuple] = []
    for at in range(0, len(likely), _PAGE):
        found = yield from _loaded(cache, sealing, search.tenant, likely[at : at + _PAGE])
        tuples += [found_one for found_one in found if matches(found_one.metadata, search.filter)]
        if search.remaining is not None and len(tuples) >= search.remaining:
            return tuples[: search.remaining], None
    return tuples, search.behind(rows, returned=len(tuples), asked=limit)


def _loaded(
    cache: Cache, sealing: Sealing, tenant: str, rows: Sequence[Row]
) -> Operation[list[CheckpointTuple]]:
    tuples: list[CheckpointTuple] = []
    for thread_id, group in groupby(rows, key=lambda row: row["thread_id"]):
        keys = list(group)
        target = Target(Location(tenant, thread_id), "", None)
        items, found = yield from read(
            cache, target, nss=[row["name"] for row in keys], ids=[row["id"] for row in keys]
        )
        tuples += [tuple_of(cache, items, sealing, one) for one in found if one.is_visible]
    return tuples


def _may_match(cache: Cache, sealing: Sealing, row: Row, wanted: Mapping[str, Any]) -> bool:
    """Tell whether metadata match, as far as can be told from a checkpoint's row alone."""
    if not wanted:
        return True
    metadata, elsewhere = metadata_at_hand(cache, sealing, row, wanted)
    return matches(metadata, {k: v for k, v in wanted.items() if k not in elsewhere})


def metadata_at_hand(
    cache: Cache, sealing: Sealing, row: Row, keys: Collection[str]
) -> tuple[Mapping[str, Any], AbstractSet[str | None]]:
    """Return metadata of a checkpoint that its row holds, and the keys whose values it does not."""
    held = skeleton_of(cache, row).metadata
    at_hand = {
        key: node
        for key, node in held.items()
        if (key is None or key in keys) and not any(references(node))
    }
    decoder = Decoder(sealing, Shelf(cache, ThreadItems(), sealing))
    metadata = metadata_of(Skeleton({}, {}, {}, at_hand), decoder)
    return cast("Mapping[str, Any]", metadata), held.keys() - at_hand.keys()


def matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tell whether metadata hold what is wanted; of a dict inside, what is named suffices."""
    return all(_holds(cast("Any", metadata).get(key), value) for key, value in wanted.items())


def _holds(held: Any, wanted: Any) -> bool:
    if isinstance(held, dict) and isinstance(wanted, dict) and wanted:
        inner, named = cast("dict[str, Any]", held), cast("dict[str, Any]", wanted)
        return all(key in inner and _holds(inner[key], value) for key, value in named.items())
    return bool(held == wanted)
