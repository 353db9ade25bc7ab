"""What a process remembers of the threads it works on, so as not to send or read it again.

Nothing here is needed for correctness: a process that has forgotten, or never knew, sends and
reads more. What is remembered of a thread is dropped as soon as its ``generation`` is seen to
have changed, which it does whenever entries are deleted.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, cast
from uuid import UUID

from langchain_core.messages import BaseMessage

from langledger.checkpoint.sealing import Sealing
from langledger.checkpoint.snapshots import Handle, Master, Snapshot, handle_of, holds
from langledger.checkpoint.tree import Node, add_to_run
from langledger.entries.codec import decompress
from langledger.errors import SerializationError

__all__ = ["Cache", "Head", "Located", "Stage", "StoredItem", "ThreadItems", "multirange"]

_HEADS = 32
# A decoded message takes about this many times its compressed size, and a constant.
_EXPANSION, _OVERHEAD = 4, 2000


class Stage(Enum):
    """How a message stands; it matters for one without id, which may get one yet."""

    SETTLED = "settled"  # in a channel: it is what it will be
    INPUT = "draft"  # in a graph's input: each is a message of its own
    WRITTEN = "reply"  # written by a task, to a channel that may give it an id


class Located(NamedTuple):
    """Where content is stored, and as what."""

    seq: int
    stage: Stage = Stage.SETTLED

    def serves(self, stage: Stage) -> bool:
        """Tell whether it will do for a message without id of this stage."""
        return stage in (self.stage, Stage.WRITTEN)

    def became(self, seq: int) -> bool:
        """Tell whether the message ``seq`` is what this was before it got its id."""
        return self.seq == seq and self.stage != Stage.SETTLED


class Known(NamedTuple):
    """A message that is stored, and by what it is known."""

    located: Located
    by: Snapshot | Master

    def is_held_by(self, message: BaseMessage) -> bool:
        """Tell whether a message holds the same."""
        snapshot = self.by.snapshot if isinstance(self.by, Master) else self.by
        return snapshot is not None and holds(message, snapshot)


@dataclass(frozen=True, slots=True)
class Head:
    """What a checkpoint's children may inherit: its channels' versions and nodes."""

    versions: Mapping[str, Any]
    channels: Mapping[str, Node]


@dataclass(slots=True)
class StoredItem:
    """An entry as read, decoded when first asked for.

    Attributes:
        kind: As in the entry table.
        message_id: The message's id, where it stands beside the content.
        body: As stored.
        whole: The message as it was decoded.
        bare: The message as it was decoded, without its id.
    """

    kind: str
    message_id: str | None
    body: bytes
    whole: Master | None = None
    bare: Master | None = None

    @property
    def settled(self) -> bool:
        """Whether the row stays as it is; a draft may yet get an id."""
        return self.kind != "draft"

    @property
    def size(self) -> int:
        """Bytes of memory, roughly."""
        return _EXPANSION * len(self.body) + _OVERHEAD

    def value(self, sealing: Sealing) -> Any:
        """Return the value, a new one each time."""
        return sealing.load(*decompress(self.body))

    def master(self, sealing: Sealing, *, bare: bool) -> Master | None:
        """Decode the message to copy; None if the entry is none, or its class is not allowed."""
        message = self.value(sealing)
        if not isinstance(message, BaseMessage):
            return None
        if message.id is None and not bare:
            cast("dict[str, Any]", message.__dict__)["id"] = self.message_id  # as assignment does
        master = Master(message)
        if bare:
            self.bare = master
        else:
            self.whole = master
        return master

    def as_fields(self, sealing: Sealing, *, bare: bool) -> Any:
        """Return what the serialiser gives in place of a message whose class it does not allow."""
        value = self.value(sealing)
        if isinstance(value, dict) and not bare:
            given = cast("dict[str, Any]", value)
            if given.get("id", self) is None:
                given["id"] = self.message_id
        return cast("Any", value)


class ThreadItems:
    """A thread's entries, as far as known.

    Attributes:
        generation: Under which they were read; None before the thread was first seen.
        rows: By seq.
        located: Where content is, by digest and message id.
        known: Messages, by id and text.
        size: Bytes of memory, roughly.
    """

    def __init__(self, generation: int | None = None) -> None:
        self.generation = generation
        self.rows: dict[int, StoredItem] = {}
        self.located: dict[tuple[bytes, str | None], Located] = {}
        self.known: dict[Handle, Known] = {}
        self.size = _OVERHEAD  # also of one that has nothing: there may be very many
        self._heads: OrderedDict[tuple[str, str], Head] = OrderedDict()
        self._have: str | None = None

    def add(self, seq: int, item: StoredItem, digest: bytes) -> None:
        """Learn an entry."""
        if seq not in self.rows:
            self.size += item.size
        self.rows[seq] = item
        if item.message_id is not None:
            before = self.located.get((digest, None))
            if before is not None and before.became(seq):
                del self.located[digest, None]
        stage = Stage.SETTLED if item.settled else Stage.INPUT
        self.located[digest, item.message_id] = Located(seq, stage)
        self._have = None

    def learn(self, handle: Handle, known: Known) -> None:
        """Learn a message; the draft that it was before is one no more."""
        _, text = handle
        before = self.known.get((None, text))
        if before is not None and before.located.became(known.located.seq):
            del self.known[None, text]
        self.known[handle] = known

    def find(self, message: BaseMessage) -> Located | None:
        """Return where a message is stored, if it holds what one that is known holds."""
        known = self.known.get(handle_of(message))
        return known.located if known is not None and known.is_held_by(message) else None

    def have(self) -> str:
        """Return the seqs that need not be read, as a multirange."""
        have = self._have
        if have is None:
            settled = (seq for seq, item in list(self.rows.items()) if item.settled)
            have = self._have = multirange((seq, 1) for seq in sorted(settled))
        return have

    def head(self, checkpoint_ns: str, checkpoint_id: str) -> Head | None:
        """Return what is known of a checkpoint."""
        return self._heads.get((checkpoint_ns, checkpoint_id))

    def add_head(self, checkpoint_ns: str, checkpoint_id: str, head: Head) -> None:
        """Learn a checkpoint; the oldest known is forgotten."""
        self._heads[checkpoint_ns, checkpoint_id] = head
        if len(self._heads) > _HEADS:
            self._heads.popitem(last=False)


class Cache:
    """What one checkpointer remembers; used by any number of threads.

    Args:
        budget: Bytes of memory for entries, roughly; with 0 nothing is remembered.
    """

    def __init__(self, budget: int) -> None:
        self.layouts: dict[int, bytes] = {}
        self.layout_numbers: dict[bytes, int] = {}
        self._budget = budget
        self._lock = threading.Lock()
        self._threads: OrderedDict[UUID, ThreadItems] = OrderedDict()
        # Kept up to date and not summed up: there may be very many threads.
        self._counted: dict[UUID, int] = {}
        self._total = 0

    def items(self, thread_key: UUID) -> ThreadItems:
        """Return what is known of a thread."""
        if not self._budget:
            return ThreadItems()
        with self._lock:
            items = self._threads.get(thread_key)
            if items is None:
                return self._begin(thread_key)
            self._threads.move_to_end(thread_key)
            return items

    def renewed(self, thread_key: UUID, items: ThreadItems, generation: int | None) -> ThreadItems:
        """Return ``items`` if they are of this generation, else empty ones in their place."""
        with self._lock:
            if items.generation is None and not items.rows:
                items.generation = generation
            if items.generation == generation:
                return items
            if not self._budget:
                return ThreadItems(generation)
            current = self._threads.get(thread_key)
            if current is None or current.generation != generation:
                current = self._begin(thread_key, generation)
            return current

    def forget(self, thread_key: UUID) -> None:
        """Drop a thread."""
        with self._lock:
            if self._threads.pop(thread_key, None) is not None:
                self._total -= self._counted.pop(thread_key)

    def trim(self, thread_key: UUID) -> None:
        """Drop the threads used longest ago until the rest fits the budget.

        Args:
            thread_key: The thread that more was learnt of.
        """
        with self._lock:
            if thread_key in self._threads:
                self._count(thread_key)
            while self._total > self._budget and self._threads:
                dropped, _ = self._threads.popitem(last=False)
                self._total -= self._counted.pop(dropped)

    def _begin(self, thread_key: UUID, generation: int | None = None) -> ThreadItems:
        items = self._threads[thread_key] = ThreadItems(generation)
        self._count(thread_key)
        return items

    def _count(self, thread_key: UUID) -> None:
        size = self._threads[thread_key].size
        self._total += size - self._counted.get(thread_key, 0)
        self._counted[thread_key] = size


class Shelf:
    """Gives out a thread's entries as values nobody else has."""

    def __init__(self, items: ThreadItems, sealing: Sealing) -> None:
        self._items = items
        self._sealing = sealing

    def message(self, reference: int, *, bare: bool) -> Any:
        """Return a message; it is known from then on."""
        item = self._item(reference)
        master = item.bare if bare else item.whole
        if master is None:
            master = item.master(self._sealing, bare=bare)
            if master is None:
                return item.as_fields(self._sealing, bare=bare)
            located = Located(reference, Stage.SETTLED if item.settled else Stage.INPUT)
            self._items.known.setdefault(master.handle(), Known(located, master))
        return master.copy()

    def value(self, reference: int) -> Any:
        """Return a value."""
        return self._item(reference).value(self._sealing)

    def _item(self, reference: int) -> StoredItem:
        item = self._items.rows.get(reference)
        if item is None:
            raise SerializationError(
                f"a checkpoint refers to entry {reference}, which is not there: its thread was "
                "changed by other means than langledger's"
            )
        return item


def multirange(runs: Iterable[tuple[int, int]]) -> str:
    """Write runs ``(first, count)`` as PostgreSQL takes an ``int8multirange``."""
    merged: list[int] = []
    for start, count in runs:
        add_to_run(merged, start, count)
    pairs = zip(merged[::2], merged[1::2], strict=True)
    return "{" + ",".join(f"[{start},{start + count})" for start, count in pairs) + "}"
