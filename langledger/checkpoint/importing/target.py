"""The checkpointer that threads are brought into: what is there, what is missing, what differs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from langledger.checkpoint.base import BaseLedgerSaver
from langledger.checkpoint.importing.source import Found, Task
from langledger.checkpoint.importing.values import same
from langledger.checkpoint.listing import scan_rows
from langledger.checkpoint.reading import Key, logs_in, sorted_out
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.operations import Operation, Query, fetch, fetch_all, run

__all__ = ["Destination"]

_queries = load_queries("langledger.checkpoint.importing")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BATCH = 5000  # entries


class Destination:
    """Where threads go.

    What was written is read back by a second saver, which knows only what is in the database.

    Args:
        saver: The checkpointer.
    """

    def __init__(self, saver: BaseLedgerSaver) -> None:
        self._writer = saver
        self._reader = saver.apart()

    def fingerprint(self, thread_id: str) -> str | None:
        """Return what the source's thread was like when it was brought here whole."""
        rows = self._run(fetch(_queries["mark"], **self._at(thread_id).keys))
        return rows[0]["fingerprint"] if rows else None

    def is_free(self, thread_id: str) -> bool:
        """Tell whether a thread has no checkpoints but those of an import."""
        rows = self._run(fetch(_queries["mark"], **self._at(thread_id).keys))
        return bool(rows and rows[0]["ours"]) or not self.keys(thread_id)

    def claim(self, thread_id: str) -> bool:
        """Mark a thread as one that is brought here; False if it has checkpoints of its own."""
        location = self._at(thread_id)
        ready = Query(_queries["ready"], {**location.keys, "thread_id": location.thread_id})
        _, taken = self._run(fetch_all(ready, Query(_queries["claim"], location.keys)))
        return bool(taken)

    def keys(self, thread_id: str) -> set[Key]:
        """Return namespace and id of the checkpoints that are there."""
        location = self._at(thread_id)
        rows = self._run(scan_rows(location))
        stored = sorted_out(location, logs_in(rows))
        return {key for key, s in stored.items() if s.is_visible}

    def lacks(self, found: Found) -> list[str]:
        """Return in what a checkpoint there differs from the source's; nothing if it is equal."""
        return _differences(found.saved, self._reader.get_tuple(found.saved.config))

    def bring(self, found: Found, *, there: bool) -> tuple[bool, list[str]]:
        """Write what is missing of a checkpoint, and read it back.

        Args:
            found: The source's checkpoint.
            there: It was seen there before; then only what it lacks is written.

        Returns:
            Whether anything was written, and in what it differs all the same.
        """
        config = found.saved.config
        stored = self._reader.get_tuple(config) if there else None
        if stored is None:
            self._put(found)
        elif not _differences(found.saved, stored):
            return False, []
        for task in found.tasks:
            if stored is None or not _has(stored, task, found.saved):
                self._writer.put_writes(config, task.writes, task.task_id, task.task_path)
        return True, self.lacks(found)

    def complete(
        self, thread_id: str, fingerprint: str, *, first: str | None, last: str | None
    ) -> None:
        """Note that a thread is whole.

        Args:
            thread_id: Its id.
            fingerprint: Of the source's thread.
            first: When its first checkpoint was made.
            last: When its last one was; None if it went on here since.
        """
        location = self._at(thread_id)
        self._run(_date_entries(location))
        self._run(
            fetch(
                _queries["complete"],
                **location.keys,
                fingerprint=fingerprint,
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


def _differences(saved: CheckpointTuple, stored: CheckpointTuple | None) -> list[str]:
    """Name what of a checkpoint is not equal."""
    if stored is None:
        return ["the checkpoint is missing"]
    ours, theirs = cast("Any", stored.checkpoint), cast("Any", saved.checkpoint)
    found = [
        name
        for name, one, other in (
            ("parent", _id(stored.parent_config), _id(saved.parent_config)),
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


def _id(config: Any) -> str | None:
    return None if config is None else config["configurable"]["checkpoint_id"]


def _time(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
