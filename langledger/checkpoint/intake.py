"""What one write adds to a thread: content that is not known to be there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ormsgpack
from langchain_core.messages import BaseMessage

from langledger.checkpoint.cache import Known, Located, Stage, StoredItem, ThreadItems, multirange
from langledger.checkpoint.sealing import Sealing
from langledger.checkpoint.snapshots import Handle, Snapshot, handle_of, snapshot_of
from langledger.checkpoint.tree import Node, row
from langledger.entries.codec import compress, split_id

__all__ = ["Gathered", "NewItem"]

_VALUE = "value"
_FOLDED = "folded"
_UNSETTLED = (Stage.INPUT.value, Stage.WRITTEN.value)
# A piece in place that is still the same one step later becomes an entry if it is larger, in bytes.
_KEPT_IN_PLACE = 96


@dataclass(frozen=True, slots=True)
class NewItem:
    """An entry to be written, unless the database has it already.

    Attributes:
        kind: As in the entry table.
        digest: Identity of the content.
        message_id: The message's id, where it stands beside the content.
        role: The message's type; None for other values.
        body: As stored.
        refs: Entries that a node refers to, as a multirange.
    """

    kind: str
    digest: bytes
    message_id: str | None
    role: str | None
    body: bytes
    refs: str | None = None


class Gathered:
    """Collects the new entries of one write.

    Attributes:
        new: In the order of their places: reference ``-1 - place``.
    """

    def __init__(self, items: ThreadItems, sealing: Sealing) -> None:
        self.new: list[NewItem] = []
        self._items = items
        self._sealing = sealing
        self._places: dict[tuple[bytes, str | None, int], int] = {}
        self._drafts: Counter[bytes] = Counter()
        self._messages: list[tuple[Handle, Snapshot, int, Stage]] = []

    def message(self, message: BaseMessage, stage: Stage) -> tuple[int, bool]:
        """Return the reference of a message, and whether it has no id."""
        message_id = message.id
        located = self._items.find(message)
        if located is not None and (message_id is not None or located.serves(stage)):
            return located.seq, message_id is None
        # Before it is serialised: LangGraph may give the message its id while we write.
        handle, snapshot = handle_of(message), snapshot_of(message)
        content, message_id = split_id(message)
        bare = message_id is None
        kind, payload = self._sealing.plain(content)
        stage = stage if bare else Stage.SETTLED
        reference = self._reference(
            kind=self._sealing.message_kind if stage == Stage.SETTLED else stage.value,
            stage=stage,
            digest=self._sealing.digest(kind, payload),
            message_id=message_id,
            role=message.type,
            content=(content, kind, payload),
        )
        if snapshot is not None:
            self._messages.append((handle, snapshot, reference, stage))
        return reference, bare

    def value(self, value: Any, kind: str, payload: bytes) -> int:
        """Return the reference of a value whose plain form is given."""
        return self._reference(
            kind=_VALUE if self._sealing.is_open else self._sealing.message_kind,
            digest=self._sealing.digest(kind, payload),
            message_id=None,
            role=None,
            content=(value, kind, payload),
        )

    def node(self, node: Node, runs: Sequence[tuple[int, int]]) -> int:
        """Return the reference of a node, and of what it is made of."""
        packed = ormsgpack.packb(node)
        # Nobody's value is ever taken for a node, whatever it holds.
        digest = self._sealing.digest(_FOLDED, packed)
        located = self._items.located.get((digest, None))
        if located is not None:
            return located.seq
        stored = _VALUE if self._sealing.is_open else self._sealing.message_kind
        sealed = self._sealing.seal(ormsgpack.unpackb(packed), "msgpack", packed)
        return self._add(NewItem(stored, digest, None, None, compress(*sealed), multirange(runs)))

    def kept(self, leaf: Node) -> Node:
        """Return what stands for a piece in place that a checkpoint inherits."""
        payload: bytes = leaf[1]
        kind: str = leaf[2] if len(leaf) > 2 else "msgpack"
        if len(payload) < _KEPT_IN_PLACE:
            return leaf
        digest = self._sealing.digest(kind, payload)
        located = self._items.located.get((digest, None))
        if located is not None:
            return row(located.seq)
        stored = _VALUE if self._sealing.is_open else self._sealing.message_kind
        return row(self._add(NewItem(stored, digest, None, None, compress(kind, payload))))

    def batches(self, *, items: int, size: int) -> Iterator[list[NewItem]]:
        """Iterate over the new entries in batches of bounded number and bytes."""
        batch: list[NewItem] = []
        weight = 0
        for item in self.new:
            if batch and (len(batch) >= items or weight + len(item.body) > size):
                yield batch
                batch, weight = [], 0
            batch.append(item)
            weight += len(item.body)
        if batch:
            yield batch

    def learn(self, seqs: Sequence[int]) -> None:
        """Remember where the new entries went."""
        for item, seq in zip(self.new, seqs, strict=True):
            if item.role is None or item.message_id is not None:
                self._items.add(seq, StoredItem(item.kind, item.message_id, item.body), item.digest)
            else:  # the entry may be that of a message with an id: it is read when needed
                self._items.located[item.digest, None] = Located(seq, _stage_of(item))
        for handle, snapshot, reference, stage in self._messages:
            seq = reference if reference > 0 else seqs[-1 - reference]
            self._items.learn(handle, Known(Located(seq, stage), snapshot))

    def _reference(
        self,
        *,
        kind: str,
        stage: Stage = Stage.SETTLED,
        digest: bytes,
        message_id: str | None,
        role: str | None,
        content: tuple[Any, str, bytes],
    ) -> int:
        located = self._items.located.get((digest, message_id))
        if located is not None and (message_id is not None or located.serves(stage)):
            return located.seq
        nth = 0
        if stage == Stage.INPUT:  # the same words again in one input are another message
            nth = self._drafts[digest]
            self._drafts[digest] += 1
        place = self._places.get((digest, message_id, nth))
        if place is not None:
            return -1 - place
        body = compress(*self._sealing.seal(*content))
        return self._add(NewItem(kind, digest, message_id, role, body), nth)

    def _add(self, item: NewItem, nth: int = 0) -> int:
        place = self._places.setdefault((item.digest, item.message_id, nth), len(self.new))
        if place == len(self.new):
            self.new.append(item)
        return -1 - place


def _stage_of(item: NewItem) -> Stage:
    return Stage(item.kind) if item.kind in _UNSETTLED else Stage.SETTLED
