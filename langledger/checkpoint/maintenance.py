"""Operations that delete, prune and copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, TypeAlias, cast

from langgraph.checkpoint.base import CheckpointTuple

from langledger.checkpoint.cache import Cache
from langledger.checkpoint.keys import Target, pack_id, unpack_id
from langledger.checkpoint.listing import metadata_at_hand
from langledger.checkpoint.reading import load
from langledger.checkpoint.sealing import Sealing
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.errors import ConfigurationError
from langledger.operations import Operation, Query, Row, fetch, fetch_all

__all__ = [
    "Policy",
    "Pruned",
    "copy_thread",
    "delete_for_runs",
    "delete_thread",
    "drop_all",
    "idle_threads",
    "prune",
]

_queries = load_queries("langledger.checkpoint")

# Rows deleted in one transaction.
_BATCH = 1000
_VALUES = ["value", "draft", "sealed"]
_EVERYTHING = 1 << 31

_Key: TypeAlias = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Policy:
    """What pruning keeps of a thread.

    Attributes:
        keep: The newest checkpoints of each namespace, at least so many.
        since: All that are not older than this.
        checkpoint_ns: Prunes this namespace only; None for all.
        entries: Removes also messages that no checkpoint refers to any more. They are the
            ledger's history: what recall and audits read.
    """

    keep: int = 1
    since: datetime | None = None
    checkpoint_ns: str | None = None
    entries: bool = False

    def __post_init__(self) -> None:
        if self.keep < 0:
            raise ConfigurationError(f"keep must be 0 or more checkpoints, not {self.keep}")

    @property
    def kinds(self) -> list[str]:
        """Kinds of entries that are removed when nothing refers to them."""
        return [*_VALUES, "message"] if self.entries else _VALUES


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed.

    Attributes:
        checkpoints: Checkpoints.
        entries: Entries that nothing referred to any more.
    """

    checkpoints: int = 0
    entries: int = 0

    def __add__(self, other: Pruned) -> Pruned:
        return Pruned(self.checkpoints + other.checkpoints, self.entries + other.entries)


def delete_thread(cache: Cache, location: Location) -> Operation[None]:
    """Delete everything of a thread: checkpoints, writes, its entries and compactions."""
    keys = location.keys
    yield from _drop_rows(location, _VALUES)
    yield from fetch_all(
        *(
            Query(_queries[name], keys)
            for name in ("lock", "drop_rest", "drop_entries", "drop_compactions", "drop_thread")
        )
    )
    cache.forget(keys["thread_key"])


def drop_all(location: Location, *, entries: bool = False) -> Operation[Pruned]:
    """Delete all checkpoints of a thread; its messages stay unless ``entries``."""
    return (yield from _drop_rows(location, Policy(entries=entries).kinds))


def prune(
    cache: Cache, sealing: Sealing, location: Location, policy: Policy, *, dry_run: bool = False
) -> Operation[Pruned]:
    """Delete what a policy does not keep of a thread."""
    rows = yield from _retained(cache, location, policy)
    kept = {_key(row) for row in rows if row["kept"]}
    kept -= _finished_calls(cache, sealing, rows, kept)
    surplus = [row for row in rows if not row["hidden"] and _key(row) not in kept]
    return (
        yield from _drop(
            cache, sealing, location, rows, surplus, kinds=policy.kinds, dry_run=dry_run
        )
    )


def delete_for_runs(
    cache: Cache, sealing: Sealing, tenant: str, run_ids: Sequence[str]
) -> Operation[Pruned]:
    """Delete the checkpoints that runs made, in all threads."""
    found = yield from fetch(_queries["runs"], tenant=tenant, run_ids=list(run_ids))
    total = Pruned()
    for thread_id, group in groupby(found, key=lambda row: row["thread_id"]):
        location = Location(tenant, thread_id)
        doomed = {_key(row) for row in group}
        rows = yield from _retained(cache, location, Policy(keep=_EVERYTHING))
        surplus = [row for row in rows if _key(row) in doomed]
        total += yield from _drop(cache, sealing, location, rows, surplus, kinds=_VALUES)
    return total


def copy_thread(location: Location, target: Location) -> Operation[None]:
    """Copy a thread, with its history, to one that does not exist yet.

    Raises:
        ConfigurationError: The target exists.
    """
    rows = yield from fetch(
        _queries["copy"],
        **location.keys,
        target_key=target.keys["thread_key"],
        target_id=target.thread_id,
    )
    if rows[0]["found"] and not rows[0]["made"]:
        raise ConfigurationError(
            f"thread {target.thread_id!r} exists already: delete it first, or copy to another id"
        )


def idle_threads(
    tenant: str, *, before: datetime, after: str = "", limit: int = 100
) -> Operation[list[str]]:
    """Return threads that nobody wrote to since ``before``, in order of their ids."""
    rows = yield from fetch(
        _queries["idle_threads"], tenant=tenant, before=before, after=after, limit=limit
    )
    return [row["thread_id"] for row in rows]


def _retained(cache: Cache, location: Location, policy: Policy) -> Operation[list[Row]]:
    rows = yield from fetch(
        _queries["retained"],
        **location.keys,
        keep=policy.keep,
        since=policy.since,
        checkpoint_ns=policy.checkpoint_ns,
        layouts=list(cache.layouts),
    )
    for row in rows:
        if row["layout_body"] is not None:
            cache.layouts[row["number"]] = row["layout_body"]
    return rows


def _finished_calls(
    cache: Cache, sealing: Sealing, rows: Sequence[Row], kept: set[_Key]
) -> set[_Key]:
    """Return checkpoints of subgraph calls whose root checkpoint is not kept.

    A call's namespace ends in its task id. Nothing resumes it once the root graph is past it.
    """
    saved = {_key(row) for row in rows if not row["hidden"]}
    done: set[_Key] = set()
    for row in rows:
        if row["body"] is None or _key(row) not in kept:
            continue
        metadata, _ = metadata_at_hand(cache, sealing, row, ("parents",))
        root = cast("Mapping[str, str]", metadata.get("parents") or {}).get("")
        started_from = None if root is None else ("", pack_id(root))
        if started_from in saved and started_from not in kept:
            done.add(_key(row))
    return done


def _drop(
    cache: Cache,
    sealing: Sealing,
    location: Location,
    rows: Sequence[Row],
    surplus: Sequence[Row],
    *,
    kinds: Sequence[str],
    dry_run: bool = False,
) -> Operation[Pruned]:
    """Delete checkpoints, but hide those that the delta channels of others are made from."""
    if not surplus:
        return Pruned()
    doomed = {_key(row) for row in rows if row["hidden"]} | {_key(row) for row in surplus}
    needed = yield from _needed(cache, sealing, location, rows, doomed)
    gone = sorted(doomed - needed)
    visible = sum(not row["hidden"] for row in surplus)
    if dry_run:
        return Pruned(visible)
    keys = location.keys
    for batch in _batches(gone):
        yield from fetch_all(
            Query(_queries["lock"], keys),
            Query(_queries["drop"], {**keys, **_arrays(batch)}),
            Query(_queries["orphan"], {**keys, **_arrays(batch)}),
        )
    *_, collected = yield from fetch_all(
        Query(_queries["lock"], keys),
        Query(_queries["hide"], {**keys, **_arrays(sorted(needed))}),
        Query(_queries["collect"], {**keys, "kinds": list(kinds)}),
    )
    cache.forget(keys["thread_key"])
    return Pruned(visible, collected[0]["n"])


def _needed(
    cache: Cache,
    sealing: Sealing,
    location: Location,
    rows: Sequence[Row],
    doomed: AbstractSet[_Key],
) -> Operation[set[_Key]]:
    """Return the doomed checkpoints that others need to put their delta channels together."""
    by_key = {_key(row): row for row in rows}
    needed: set[_Key] = set()
    for row in rows:
        parent = (row["name"], row["parent_id"])
        if row["snapshots"] is None or _key(row) in doomed or parent not in doomed:
            continue
        target = Target(location, row["name"], unpack_id(row["id"]))
        found = yield from load(cache, sealing, target)
        if found is not None:
            needed |= _chain(by_key, parent, _delta_channels(found)) & doomed
    return needed


def _delta_channels(found: CheckpointTuple) -> set[str]:
    """Return the delta channels that a checkpoint does not hold whole."""
    counters = found.metadata.get("counters_since_delta_snapshot") or {}
    return set(counters) - found.checkpoint["channel_values"].keys()


def _chain(by_key: Mapping[_Key, Row], key: _Key, channels: AbstractSet[str]) -> set[_Key]:
    """Return the ancestors from ``key`` on that delta channels are made from."""
    missing = set(channels)
    chain: set[_Key] = set()
    while missing and key in by_key:
        row = by_key[key]
        chain.add(key)
        missing -= set(row["snapshots"] or ())
        key = (row["name"], row["parent_id"])
    return chain


def _drop_rows(location: Location, kinds: Sequence[str]) -> Operation[Pruned]:
    """Delete all checkpoints of a thread, and entries of these kinds, in bounded steps."""
    keys = location.keys
    total = 0
    while True:
        _, dropped = yield from fetch_all(
            Query(_queries["lock"], keys), Query(_queries["drop_some"], {**keys, "limit": _BATCH})
        )
        total += dropped[0]["n"]
        if dropped[0]["n"] < _BATCH:
            break
    _, collected = yield from fetch_all(
        Query(_queries["lock"], keys), Query(_queries["collect"], {**keys, "kinds": list(kinds)})
    )
    return Pruned(total, collected[0]["n"])


def _batches(keys: Sequence[_Key]) -> Iterable[Sequence[_Key]]:
    return (keys[at : at + _BATCH] for at in range(0, len(keys), _BATCH))


def _arrays(keys: Sequence[_Key]) -> dict[str, Any]:
    return {"nss": [name for name, _ in keys], "ids": [packed for _, packed in keys]}


def _key(row: Row) -> _Key:
    return row["name"], row["id"]
