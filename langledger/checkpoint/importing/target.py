"""The checkpointer that threads are brought into: what is there, what is missing, what differs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from langledger.checkpoint import maintenance
from langledger.checkpoint.base import BaseLedgerSaver
from langledger.checkpoint.cache import Cache
from langledger.checkpoint.importing.source import Found, Task
from langledger.checkpoint.importing.values import same
from langledger.checkpoint.keys import pack_id
from langledger.checkpoint.listing import scan_rows
from langledger.checkpoint.reading import Key, logs_in, sorted_out
from langledger.checkpoint.secrets import sealing_for
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.operations import Operation, Query, fetch, fetch_all, run

__all__ = ["Destination", "Mark", "key_of"]

_queries = load_queries("langledger.checkpoint.importing")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BATCH = 5000  # entries
_THREADS = 500


@dataclass(frozen=True, slots=True)
class Mark:
    """What is noted of a thread that was brought here.

    Attributes:
        source: Where it came from; None for one that was not.
        newest: Greatest id of its checkpoints there, when it was last brought.
        fingerprint: What it was like there when it was here whole.
        gone: Checkpoints are here that the source had no more.
    """

    source: str | None = None
    newest: str | None = None
    fingerprint: str | None = None
    gone: bool = False

    def own(self, keys: Collection[Key], source: str) -> set[Key]:
        """Return those checkpoints, of what the source has not, that were made here.

        Their ids are later than all that came from there: else LangGraph would not see them.
        """
        if self.newest is None or self.source != source:
            return set(keys)
        newest = pack_id(self.newest)
        return {key for key in keys if pack_id(key[1]) > newest}


class Destination:
    """Where threads go.

    What was written is read back by a second saver, which knows only what is in the database.

    Args:
        saver: The checkpointer.
    """

    def __init__(self, saver: BaseLedgerSaver) -> None:
        self._writer = saver
        self._reader = saver.apart()

    def mark(self, thread_id: str) -> Mark:
        """Return what is noted of a thread."""
        rows = self._run(fetch(_queries["mark"], **self._at(thread_id).keys))
        return Mark(**rows[0]) if rows else Mark()

    def brought(self, source: str) -> Iterator[tuple[str, Mark]]:
        """Iterate over the threads that came from a source, by id."""
        after = ""
        while True:
            which = {"source": source, "after": after, "limit": _THREADS}
            rows = self._run(fetch(_queries["imported"], tenant=self._writer.tenant, **which))
            for row in rows:
                yield row["thread_id"], Mark(source, row["newest"])
            if len(rows) < _THREADS:
                return
            after = rows[-1]["thread_id"]

    def claim(self, thread_id: str, source: str, newest: str) -> bool:
        """Mark a thread as one that is brought here; False if it has checkpoints of its own."""
        location = self._at(thread_id)
        ready = Query(_queries["ready"], {**location.keys, "thread_id": location.thread_id})
        noted = {**location.keys, "source": source, "newest": newest}
        _, taken = self._run(fetch_all(ready, Query(_queries["claim"], noted)))
        return bool(taken)

    def drop(self, thread_id: str, keys: Collection[Key] | None = None) -> None:
        """Delete these checkpoints of a thread, or all of them; its messages stay."""
        location = self._at(thread_id)
        if keys is None:
            self._run(maintenance.drop_all(Cache(0), location))
        else:
            self._run(self._without(location, keys))

    def drop_thread(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        self._run(maintenance.delete_thread(Cache(0), self._at(thread_id)))

    def _without(self, location: Location, keys: Collection[Key]) -> Operation[None]:
        sealing = yield from sealing_for(self._writer.tenant, self._writer.serde)
        yield from maintenance.take_out(Cache(0), sealing, location, keys)

    def keys(self, thread_id: str) -> set[Key]:
        """Return namespace and id of the checkpoints that are there."""
        location = self._at(thread_id)
        rows = self._run(scan_rows(location))
        stored = sorted_out(location, logs_in(rows))
        return {key for key, s in stored.items() if s.is_visible}

    def bring(self, found: Found, here: Collection[Key]) -> tuple[bool, list[str]]:
        """Write what is missing of a checkpoint, and read it back.

        Args:
            found: The source's checkpoint.
            here: Those that were here before; of these only what they lack is written.

        Returns:
            Whether anything was written, and in what it differs all the same.
        """
        config = found.saved.config
        stored = self._reader.get_tuple(config) if key_of(config) in here else None
        differences = _differences(found.saved, stored, here)
        if stored is not None and not differences:
            return False, []
        if stored is None or ("parent" in differences and stored.parent_config is None):
            self._put(found)  # a second time where its parent had been pruned here, and is back
        for task in found.tasks:
            if stored is None or not _has(stored, task, found.saved):
                self._writer.put_writes(config, task.writes, task.task_id, task.task_path)
        return True, _differences(found.saved, self._reader.get_tuple(config), here)

    def complete(
        self, thread_id: str, fingerprint: str, *, first: str | None, last: str | None, gone: bool
    ) -> None:
        """Note that a thread is whole.

        Args:
            thread_id: Its id.
            fingerprint: Of the source's thread.
            first: When its first checkpoint was made.
            last: When its last one was; None if it went on here since.
            gone: Checkpoints are here that the source has no more.
        """
        location = self._at(thread_id)
        self._run(_date_entries(location))
        self._run(
            fetch(
                _queries["complete"],
                **location.keys,
                fingerprint=fingerprint,
                gone=gone,
                first=_time(first),
                last=_time(last),
            )
        )

    def _put(self, found: Found) -> None:
        saved = found.saved
        configurable = saved.config.get("configurable") or {}
        root: RunnableConfig = {"configurable": {**configurable, "checkpoint_id": None}}
        self._writer.put(
            saved.parent_config or root, saved.checkpoint, saved.metadata, found.new_versions
        )

    def _at(self, thread_id: str) -> Location:
        return Location(self._writer.tenant, thread_id)

    def _run(self, operation: Operation[Any]) -> Any:
        return run(operation, self._writer.executor)


def _date_entries(location: Location) -> Operation[None]:
    """Make entries as old as the checkpoints they came with."""
    rows = yield from scan_rows(location)
    dated: dict[int, datetime] = {}
    for stored in sorted_out(location, logs_in(rows)).values():
        if stored.record is not None and stored.record.details.time:
            made = _EPOCH + timedelta(microseconds=stored.record.details.time)
            for seq in (seq for record in stored.records for seq in record.seqs):
                dated[seq] = min(made, dated.get(seq, made))
    seqs = sorted(dated)
    for at in range(0, len(seqs), _BATCH):
        batch = seqs[at : at + _BATCH]
        yield from fetch(
            _queries["date"], **location.keys, seqs=batch, times=[dated[seq] for seq in batch]
        )


def _has(stored: CheckpointTuple, task: Task, saved: CheckpointTuple) -> bool:
    """Tell whether all that a task wrote is there."""

    def of_task(writes: Sequence[tuple[str, str, Any]] | None) -> list[tuple[str, Any]]:
        return [(channel, value) for t, channel, value in writes or () if t == task.task_id]

    return same(of_task(stored.pending_writes), of_task(saved.pending_writes))


def _differences(
    saved: CheckpointTuple, stored: CheckpointTuple | None, here: Collection[Key]
) -> list[str]:
    """Name what of a checkpoint is not equal."""
    if stored is None:
        return ["the checkpoint is missing"]
    ours, theirs = cast("Any", stored.checkpoint), cast("Any", saved.checkpoint)
    found = [
        name
        for name, one, other in (
            ("parent", _parent(stored), _parent(saved) or _still_here(stored, here)),
            ("metadata", stored.metadata, saved.metadata),
            ("writes", list(stored.pending_writes or ()), list(saved.pending_writes or ())),
            *((n, ours.get(n), theirs.get(n)) for n in {**ours, **theirs} if n != _VALUES),
        )
        if not same(one, other)
    ]
    missing = object()
    channels = {**ours[_VALUES], **theirs[_VALUES]}
    return found + [
        f"channel {name}"
        for name in channels
        if not same(ours[_VALUES].get(name, missing), theirs[_VALUES].get(name, missing))
    ]


_VALUES = "channel_values"


def key_of(config: Any) -> Key:
    """Return namespace and id of the checkpoint that a config points at."""
    return config["configurable"]["checkpoint_ns"], config["configurable"]["checkpoint_id"]


def _parent(found: CheckpointTuple) -> Key | None:
    return None if found.parent_config is None else key_of(found.parent_config)


def _still_here(stored: CheckpointTuple, here: Collection[Key]) -> Key | None:
    """Return the parent of a checkpoint that the source's pruning made a root, if it is here."""
    parent = _parent(stored)
    return parent if parent in here else None


def _time(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
