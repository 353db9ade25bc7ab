"""Operations that list checkpoints page by page, and put delta channels together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory, PendingWrite

from langledger.arguments import unstorable
from langledger.checkpoint.cache import Cache, Shelf, ThreadItems
from langledger.checkpoint.checks import check_filter, check_limit
from langledger.checkpoint.decoding import Decoder
from langledger.checkpoint.keys import Target, pack_id
from langledger.checkpoint.reading import (
    Stored,
    find,
    load_layouts,
    logs_in,
    metadata_of,
    newest,
    pending_writes,
    read,
    sorted_out,
    tuple_of,
)
from langledger.checkpoint.records import Skeleton, skeleton_of
from langledger.checkpoint.sealed_logs import open_log
from langledger.checkpoint.sealing import Sealing
from langledger.checkpoint.tree import references
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.entries.scopes import configurable_of
from langledger.operations import Operation, Query, Row, fetch, fetch_all

__all__ = ["Search", "history", "matches", "metadata_at_hand", "page", "scan", "scan_rows"]

_queries = load_queries("langledger.checkpoint")

_PAGE = 50
_THREADS = 100
_LOGS = 500
# Stretches read at once when a delta channel is put together.
_CHAIN = 64


@dataclass(frozen=True, slots=True)
class Search:
    """What to list, and what is left of it.

    Attributes:
        tenant: Whose checkpoints.
        checkpoint_ns: None for all namespaces.
        checkpoint_id: None for all.
        filter: Metadata they must have.
        before: Only older ones than this id.
        remaining: How many more to return; None for all.
        threads: The threads to look into next.
        more: What to continue the list of threads behind; None when it is complete.
        keys: Checkpoints found and not returned yet.
    """

    tenant: str
    checkpoint_ns: str | None
    checkpoint_id: str | None
    filter: Mapping[str, Any]
    before: str | None
    remaining: int | None
    threads: tuple[Location, ...] = ()
    more: Mapping[str, Any] | None = None
    keys: tuple[Target, ...] = field(default=(), repr=False)

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
        wanted, limit = check_filter(filter), check_limit(limit)
        older = configurable_of(before).get("checkpoint_id")
        if config is None:
            start = {"updated_at": None, "thread_key": None}
            return cls(tenant, None, None, wanted, older, limit, more=start)
        target = Target.of(tenant, config)
        named = "checkpoint_ns" in configurable_of(config)
        return cls(
            tenant,
            target.checkpoint_ns if named else None,
            target.checkpoint_id,
            wanted,
            older,
            limit,
            threads=(target.location,),
        )

    @property
    def is_plain(self) -> bool:
        """Whether it lists one thread, whatever the metadata."""
        return (
            len(self.threads) == 1
            and self.checkpoint_id is None
            and not self.filter
            and self.more is None
            and not self.keys
        )

    @property
    def run_id(self) -> str | None:
        """The run to which the filter restricts it, as far as the index knows runs."""
        run_id = self.filter.get("run_id")
        return run_id if isinstance(run_id, str) and unstorable(run_id) is None else None

    def less(self, returned: int, **changes: Any) -> Search | None:
        """Return what is left after a page; None when nothing is."""
        remaining = None if self.remaining is None else self.remaining - returned
        rest = replace(self, remaining=remaining, **changes)
        done = not rest.threads and not rest.keys and rest.more is None
        return None if done or remaining == 0 else rest

    def wants(self, stored: Stored) -> bool:
        """Tell whether a checkpoint is listed, by its id."""
        checkpoint_id = stored.key[1]
        return (
            stored.is_visible
            and self.checkpoint_id in (None, checkpoint_id)
            and (self.before is None or pack_id(checkpoint_id) < pack_id(self.before))
        )


def page(
    cache: Cache, sealing: Sealing, search: Search
) -> Operation[tuple[list[CheckpointTuple], Search | None]]:
    """Return some checkpoints, newest first, and what is left to list."""
    if search.remaining is not None and search.remaining <= 0:
        return [], None
    if search.is_plain:
        return (yield from _plain_page(cache, sealing, search))
    if search.keys:
        return (yield from _found_page(cache, sealing, search))
    if not search.threads:
        return [], (yield from _next_threads(search))
    location, *others = search.threads
    stored = yield from scan(
        cache, location, checkpoint_ns=search.checkpoint_ns, run_id=search.run_id
    )
    likely = [
        s for s in stored.values() if search.wants(s) and _may_match(cache, sealing, s, search)
    ]
    likely.sort(key=lambda s: (pack_id(s.key[1]), s.key[0]), reverse=True)
    return [], search.less(0, threads=tuple(others), keys=tuple(s.target for s in likely))


def scan(
    cache: Cache, location: Location, *, checkpoint_ns: str | None = None, run_id: str | None = None
) -> Operation[dict[tuple[str, str], Stored]]:
    """Read the logs of a thread, without entries."""
    rows = yield from scan_rows(location, checkpoint_ns=checkpoint_ns, run_id=run_id)
    stored = sorted_out(location, logs_in(rows))
    records = [record for s in stored.values() for record in s.records]
    yield from load_layouts(cache, location.tenant, records)
    return stored


def scan_rows(
    location: Location, *, checkpoint_ns: str | None = None, run_id: str | None = None
) -> Operation[list[Row]]:
    """Read the rows of a thread's logs, in order of namespace, id and part."""
    rows: list[Row] = []
    after: Row = {"name": "", "id": b"", "part": -1}
    while True:
        which = {
            **location.keys,
            "checkpoint_ns": checkpoint_ns,
            "run_id": run_id,
            "after_ns": after["name"],
            "after_id": after["id"],
            "after_part": after["part"],
            "limit": _LOGS,
        }
        (found,) = yield from fetch_all(Query(_queries["scan"], which, reads=open_log))
        rows += found
        if len(found) < _LOGS:
            return rows
        after = found[-1]


def _plain_page(
    cache: Cache, sealing: Sealing, search: Search
) -> Operation[tuple[list[CheckpointTuple], Search | None]]:
    count = min(_PAGE, search.remaining or _PAGE)
    items, found = yield from newest(
        cache,
        search.threads[0],
        checkpoint_ns=search.checkpoint_ns,
        count=count,
        before=search.before,
    )
    found = found[: search.remaining]
    tuples = [tuple_of(cache, items, sealing, stored) for stored in found]
    if len(found) < count:
        return tuples, None
    return tuples, search.less(len(tuples), before=found[-1].key[1])


def _found_page(
    cache: Cache, sealing: Sealing, search: Search
) -> Operation[tuple[list[CheckpointTuple], Search | None]]:
    count = min(_PAGE, search.remaining or _PAGE)
    keys, rest = search.keys[:count], search.keys[count:]
    tuples: list[CheckpointTuple] = []
    for location, group in groupby(keys, key=lambda target: target.location):
        targets = list(group)
        items, rows = yield from read(
            cache,
            targets[0],
            nss=[target.checkpoint_ns for target in targets],
            ids=[pack_id(target.checkpoint_id or "") for target in targets],
        )
        stored = sorted_out(location, logs_in(rows))
        there = [stored.get((t.checkpoint_ns, t.checkpoint_id or "")) for t in targets]
        tuples += [tuple_of(cache, items, sealing, s) for s in there if s and s.is_visible]
    tuples = [found for found in tuples if matches(found.metadata, search.filter)]
    tuples = tuples[: search.remaining]
    return tuples, search.less(len(tuples), keys=rest)


def _next_threads(search: Search) -> Operation[Search | None]:
    run_ids = None if search.run_id is None else [search.run_id]
    rows = yield from fetch(
        _queries["threads"],
        tenant=search.tenant,
        run_ids=run_ids,
        limit=_THREADS,
        **(search.more or {}),
    )
    threads = tuple(Location(search.tenant, row["thread_id"]) for row in rows)
    last = rows[-1] if len(rows) == _THREADS else None
    more = None if last is None else {k: last[k] for k in ("updated_at", "thread_key")}
    return search.less(0, threads=threads, more=more)


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
    if target.checkpoint_id is None:
        return gathering.result(channels)
    before = pack_id(target.checkpoint_id) + b"\x00"
    stored: dict[tuple[str, str], Stored] = {}
    start: Target | None = None
    items: ThreadItems | None = None
    while gathering.missing:
        items, rows = yield from read(
            cache,
            target,
            items=items,
            checkpoint_ns=target.checkpoint_ns,
            before=before,
            limit=_CHAIN,
            channels=sorted(gathering.missing),
        )
        stored |= sorted_out(target.location, logs_in(rows))
        records = [record for s in stored.values() for record in s.records]
        yield from load_layouts(cache, target.location.tenant, records)
        if start is None and (target.checkpoint_ns, target.checkpoint_id) in stored:
            start = stored[target.checkpoint_ns, target.checkpoint_id].parent
        decoder = Decoder(sealing, Shelf(items, sealing))
        start = gathering.follow(start, stored, cache, decoder)
        if start is None or not rows:
            break
        before = rows[-1]["id"]
    return gathering.result(channels)


class _History:
    """Writes and seeds of delta channels, gathered from the nearest ancestor on."""

    def __init__(self, channels: Sequence[str]) -> None:
        self.missing = set(channels)
        self._writes: dict[str, list[list[PendingWrite]]] = {name: [] for name in channels}
        self._seeds: dict[str, Any] = {}

    def follow(
        self,
        place: Target | None,
        stored: Mapping[tuple[str, str], Stored],
        cache: Cache,
        decoder: Decoder,
    ) -> Target | None:
        """Gather from ``place`` on to the root; return where more must be read to go on."""
        while place is not None and place.checkpoint_id is not None and self.missing:
            ancestor = stored.get((place.checkpoint_ns, place.checkpoint_id))
            if ancestor is None:
                return place
            self._add(ancestor, cache, decoder)
            place = ancestor.parent
        return None

    def result(self, channels: Sequence[str]) -> dict[str, DeltaChannelHistory]:
        """Return the histories, oldest write first."""
        found: dict[str, DeltaChannelHistory] = {}
        for name in channels:
            writes = [write for group in reversed(self._writes[name]) for write in group]
            found[name] = {"writes": writes}
            if name in self._seeds:
                found[name]["seed"] = self._seeds[name]
        return found

    def _add(self, ancestor: Stored, cache: Cache, decoder: Decoder) -> None:
        # Its writes made its child; its value is what they were applied to.
        written: dict[str, list[PendingWrite]] = {}
        for write in pending_writes(ancestor, cache, decoder, channels=self.missing):
            written.setdefault(write[1], []).append(write)
        for name, writes in written.items():
            self._writes[name].append(writes)
        if ancestor.record is None:
            return
        nodes = skeleton_of(ancestor.record, cache.layouts).channels
        for name in self.missing & nodes.keys():
            self._seeds[name] = decoder.decode(nodes[name])
        self.missing -= nodes.keys()


def _may_match(cache: Cache, sealing: Sealing, stored: Stored, search: Search) -> bool:
    """Tell whether metadata match, as far as can be told from a checkpoint's record alone."""
    if not search.filter:
        return True
    metadata, elsewhere = metadata_at_hand(cache, sealing, stored, search.filter)
    return matches(metadata, {k: v for k, v in search.filter.items() if k not in elsewhere})


def metadata_at_hand(
    cache: Cache, sealing: Sealing, stored: Stored, keys: Collection[str]
) -> tuple[Mapping[str, Any], AbstractSet[str | None]]:
    """Return metadata that a checkpoint's record holds, and the keys whose values it does not."""
    assert stored.record is not None  # noqa: S101 - callers pass visible ones
    held = skeleton_of(stored.record, cache.layouts).metadata
    at_hand = {
        key: node
        for key, node in held.items()
        if (key is None or key in keys) and not any(references(node))
    }
    decoder = Decoder(sealing, Shelf(ThreadItems(), sealing))
    metadata = metadata_of(Skeleton(metadata=at_hand), decoder)
    return cast("Mapping[str, Any]", metadata), held.keys() - at_hand.keys()


def matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tell whether metadata hold what is wanted; of a dict inside, what is named suffices."""
    return all(_holds(cast("Any", metadata).get(key), value) for key, value in wanted.items())


def _holds(held: Any, wanted: Any) -> bool:
    if isinstance(held, dict) and isinstance(wanted, dict) and wanted:
        inner, named = cast("dict[str, Any]", held), cast("dict[str, Any]", wanted)
        return all(key in inner and _holds(inner[key], value) for key, value in named.items())
    return bool(held == wanted)
