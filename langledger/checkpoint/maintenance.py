"""Operations that delete and prune."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, cast

from langledger.arguments import shown
from langledger.checkpoint.cache import Cache
from langledger.checkpoint.keys import pack_id
from langledger.checkpoint.listing import metadata_at_hand, scan_rows
from langledger.checkpoint.policy import VALUES, Policy, Pruned
from langledger.checkpoint.reading import Key, Stored, load, load_layouts, sorted_out
from langledger.checkpoint.records import skeleton_of
from langledger.checkpoint.sealing import Sealing
from langledger.checkpoint.stretches import Change, Stretch, changes, stretches_in
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.errors import ConfigurationError, DatabaseError
from langledger.operations import Operation, Query, fetch, fetch_all

__all__ = [
    "delete_for_runs",
    "delete_thread",
    "drop_all",
    "idle_threads",
    "prune",
    "take_out",
]

_queries = load_queries("langledger.checkpoint")

# Rows changed in one transaction.
_BATCH = 500
_THREADS = 100
# A stretch that is written to between reading and rewriting is tried again.
_TRIES = 10

_Chosen: TypeAlias = "Callable[[Mapping[Key, Stored]], AbstractSet[Key]]"


def delete_thread(cache: Cache, location: Location) -> Operation[None]:
    """Delete everything of a thread: checkpoints, writes, its entries and compactions."""
    yield from fetch(_queries["drop_thread"], **location.keys)
    cache.forget(location.keys["thread_key"])


def drop_all(cache: Cache, location: Location, *, entries: bool = False) -> Operation[Pruned]:
    """Delete all checkpoints of a thread; its messages stay unless ``entries``."""
    keys = location.keys
    dropped = 0
    while True:
        _, rows = yield from fetch_all(
            Query(_queries["lock"], keys), Query(_queries["drop_some"], {**keys, "limit": _BATCH})
        )
        dropped += rows[0]["n"]
        if rows[0]["n"] < _BATCH:
            break
    return Pruned(dropped, (yield from _collect(cache, location, Policy(entries=entries).kinds)))


def prune(
    cache: Cache, sealing: Sealing, location: Location, policy: Policy, *, dry_run: bool = False
) -> Operation[Pruned]:
    """Delete what a policy does not keep of a thread.

    Raises:
        ConfigurationError: It is no policy.
        SerializationError: A checkpoint is encrypted, and cannot be read with this serialiser.
    """
    if not isinstance(policy, Policy):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
        raise ConfigurationError(f"policy must be a Policy(keep=...), not {shown(policy)}")

    def surplus(stored: Mapping[Key, Stored]) -> AbstractSet[Key]:
        _check_readable(cache, sealing, stored)
        visible = {key for key, s in stored.items() if s.is_visible}
        kept = _kept(stored, policy)
        return visible - (kept - _finished_calls(cache, sealing, stored, kept))

    return (
        yield from _take_out(cache, sealing, location, surplus, kinds=policy.kinds, dry_run=dry_run)
    )


def take_out(
    cache: Cache, sealing: Sealing, location: Location, keys: Collection[Key]
) -> Operation[Pruned]:
    """Delete these checkpoints of a thread; its messages stay."""

    def those(stored: Mapping[Key, Stored]) -> AbstractSet[Key]:
        return {key for key in keys if key in stored and stored[key].is_visible}

    return (yield from _take_out(cache, sealing, location, those, kinds=VALUES))


def delete_for_runs(
    cache: Cache, sealing: Sealing, tenant: str, run_ids: Sequence[str]
) -> Operation[Pruned]:
    """Delete the checkpoints that runs made, in all threads."""
    total = Pruned()
    wanted = set(run_ids)

    def made_by_them(stored: Mapping[Key, Stored]) -> AbstractSet[Key]:
        return {
            key
            for key, s in stored.items()
            if s.record is not None
            and metadata_at_hand(cache, sealing, s, ("run_id",))[0].get("run_id") in wanted
        }

    after: dict[str, Any] = {"updated_at": None, "thread_key": None}
    while True:
        rows = yield from fetch(
            _queries["threads"], tenant=tenant, run_ids=list(run_ids), limit=_THREADS, **after
        )
        for row in rows:
            location = Location(tenant, row["thread_id"])
            total += yield from _take_out(
                cache, sealing, location, made_by_them, kinds=VALUES, run_ids=run_ids
            )
        if len(rows) < _THREADS:
            return total
        after = {key: rows[-1][key] for key in after}


def idle_threads(
    tenant: str, *, before: datetime, after: str = "", limit: int = _THREADS
) -> Operation[list[str]]:
    """Return threads that nobody wrote to since ``before``, in order of their ids."""
    rows = yield from fetch(
        _queries["idle_threads"], tenant=tenant, before=before, after=after, limit=limit
    )
    return [row["thread_id"] for row in rows]


def _check_readable(cache: Cache, sealing: Sealing, stored: Mapping[Key, Stored]) -> None:
    """Read what of each checkpoint is encrypted: whoever cannot is not to decide what goes."""
    for s in stored.values():
        if s.record is not None:
            metadata_at_hand(cache, sealing, s, ())


def _kept(stored: Mapping[Key, Stored], policy: Policy) -> set[Key]:
    by_namespace: dict[str, list[Stored]] = {}
    for s in stored.values():
        if s.is_visible:
            by_namespace.setdefault(s.key[0], []).append(s)
    kept: set[Key] = set()
    for checkpoint_ns, found in by_namespace.items():
        found.sort(key=lambda s: pack_id(s.key[1]), reverse=True)
        untouched = policy.checkpoint_ns not in (None, checkpoint_ns)
        kept |= {
            s.key
            for place, s in enumerate(found)
            if untouched or place < policy.keep or _is_young(s, policy.since)
        }
    return kept


def _is_young(stored: Stored, since: datetime | None) -> bool:
    if since is None or stored.record is None:
        return False
    return stored.record.details.time >= (since - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )


def _finished_calls(
    cache: Cache, sealing: Sealing, stored: Mapping[Key, Stored], kept: AbstractSet[Key]
) -> set[Key]:
    """Return checkpoints of subgraph calls whose root checkpoint is there, but not kept.

    A call's namespace ends in its task id. Nothing resumes it once the root graph is past it.
    """
    done: set[Key] = set()
    for key in kept:
        if ":" not in key[0]:
            continue
        metadata, _ = metadata_at_hand(cache, sealing, stored[key], ("parents",))
        root = ("", cast("Mapping[str, str]", metadata.get("parents") or {}).get("", ""))
        if root in stored and stored[root].is_visible and root not in kept:
            done.add(key)
    return done


def _take_out(
    cache: Cache,
    sealing: Sealing,
    location: Location,
    choose: _Chosen,
    *,
    kinds: Sequence[str],
    run_ids: Sequence[str] = (),
    dry_run: bool = False,
) -> Operation[Pruned]:
    """Take checkpoints out of a thread, but hide those that others' delta channels need.

    Stretches that are written to meanwhile are tried again; what is still left then stays for
    the next time, unless it is runs that must go.

    Raises:
        DatabaseError: Checkpoints of ``run_ids`` are left.
    """
    taken: set[Key] = set()
    for _ in range(_TRIES):
        rows = yield from scan_rows(location)
        stretches = list(stretches_in(rows))
        records = [record for stretch in stretches for record in stretch.records]
        yield from load_layouts(cache, location.tenant, records)
        stored = sorted_out(location, ((row["name"], row["body"]) for row in rows))
        chosen = choose(stored)
        if dry_run:
            return Pruned(len(chosen))
        if not chosen:
            break
        change = yield from _change(cache, sealing, stored, chosen, run_ids)
        if change is None:
            continue
        taken |= (yield from _apply(location, stretches, change, cache)) & chosen
        if chosen <= taken:
            break
    else:
        if run_ids:
            raise DatabaseError(
                f"thread {location.thread_id!r} is written to all the time: some checkpoints of "
                "these runs are left, delete them after the run"
            )
    return Pruned(len(taken), (yield from _collect(cache, location, kinds)) if taken else 0)


def _change(
    cache: Cache,
    sealing: Sealing,
    stored: Mapping[Key, Stored],
    chosen: AbstractSet[Key],
    run_ids: Sequence[str],
) -> Operation[Change | None]:
    """Work out what goes, what is hidden and who loses its parent.

    Returns:
        None if a checkpoint that was to stay is gone meanwhile, so that its needs are not known.
    """
    doomed = {key for key, s in stored.items() if s.hidden} | chosen
    needed: set[Key] = set()
    children: set[Key] = set()
    for key, s in stored.items():
        parent = s.parent
        if key in doomed or s.record is None or parent is None or parent.checkpoint_id is None:
            continue
        parent_key = parent.checkpoint_ns, parent.checkpoint_id
        if parent_key not in doomed:
            continue
        children.add(key)
        named = skeleton_of(s.record, cache.layouts).metadata
        if _COUNTERS in named or None in named:  # None: they are sealed, and may hold it
            found = yield from load(cache, sealing, s.target)
            if found is None:
                return None
            counters = found.metadata.get(_COUNTERS) or {}
            whole = found.checkpoint["channel_values"].keys()
            needed |= _chain(stored, parent_key, set(counters) - whole, cache) & doomed
    orphans = {key for key in children if _parent_key(stored[key]) not in needed}
    return Change(doomed - needed, needed & chosen, orphans, run_ids)


_COUNTERS = "counters_since_delta_snapshot"


def _parent_key(stored: Stored) -> Key | None:
    parent = stored.parent
    if parent is None or parent.checkpoint_id is None:
        return None
    return parent.checkpoint_ns, parent.checkpoint_id


def _chain(
    stored: Mapping[Key, Stored], key: Key | None, channels: AbstractSet[str], cache: Cache
) -> set[Key]:
    """Return the ancestors from ``key`` on that delta channels are put together from."""
    missing = set(channels)
    chain: set[Key] = set()
    while missing and key is not None and key in stored:
        ancestor = stored[key]
        chain.add(key)
        if ancestor.record is not None:
            missing -= skeleton_of(ancestor.record, cache.layouts).channels.keys()
        key = _parent_key(ancestor)
    return chain


def _apply(
    location: Location, stretches: Sequence[Stretch], change: Change, cache: Cache
) -> Operation[set[Key]]:
    """Write what is left; return the checkpoints of the stretches that had not changed."""
    empty, rewritten = changes(location, stretches, change, cache.layouts)
    keys = location.keys
    done: set[Key] = set()
    for batch in _batches(empty):
        parameters = {
            **keys,
            "nss": [stretch.checkpoint_ns for stretch in batch],
            "ids": [stretch.first_id for stretch in batch],
            "sizes": [stretch.size for stretch in batch],
        }
        _, rows = yield from fetch_all(
            Query(_queries["lock"], keys), Query(_queries["drop_stretches"], parameters)
        )
        gone = {(row["name"], row["id"]) for row in rows}
        done |= {
            key for s in batch if (s.checkpoint_ns, s.first_id) in gone for key in s.checkpoints()
        }
    for pairs in _batches(rewritten):
        _, *results = yield from fetch_all(
            Query(_queries["lock"], keys), *(query for _, query in pairs)
        )
        for (stretch, _), rows in zip(pairs, results, strict=True):
            done |= stretch.checkpoints() if rows else set()
    return done


def _collect(cache: Cache, location: Location, kinds: Sequence[str]) -> Operation[int]:
    """Remove entries that nothing refers to; return how many."""
    keys = location.keys
    rows = yield from fetch(_queries["collect"], **keys, kinds=list(kinds))
    cache.forget(keys["thread_key"])
    return rows[0]["n"]


def _batches(of: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (of[at : at + _BATCH] for at in range(0, len(of), _BATCH))
