"""The log of a namespace's checkpoints, as bytes.

Each record is what one call of ``put`` or ``put_writes`` stored::

    1 byte    how many of its entries were new
    4 bytes   the seq of each of those
    length    of what follows
    number    kind
    id        the checkpoint
    ...       as the kind says; values as msgpack

Names of channels, nodes and metadata keys are the same from step to step. They form a *layout*,
which is stored once and named by a number; a record holds the values alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias, cast

import ormsgpack

from langledger.checkpoint.nesting import join, split
from langledger.checkpoint.sealed_logs import Seal, SealedLog, unsealed
from langledger.checkpoint.tree import Node, resolve
from langledger.checkpoint.wire import Reader, Writer, time_in
from langledger.errors import SerializationError

__all__ = [
    "Kind",
    "Layout",
    "Layouts",
    "Record",
    "Skeleton",
    "TaskWrites",
    "join",
    "layout_numbers",
    "layout_of_checkpoint",
    "layout_of_writes",
    "pack_checkpoint",
    "pack_mark",
    "pack_writes",
    "read_log",
    "skeleton_of",
    "split",
    "writes_of",
]

# The tree's own level, what the versions are of, then node or channel, then channel.
_DEPTH = 4

# Bodies of layouts by number.
Layouts: TypeAlias = Mapping[int, bytes]


class Kind(IntEnum):
    """What a record is; what follows the checkpoint id."""

    CHECKPOINT = 0  # parent id, time after the id's, layout, values
    WRITES = 1  # task id, layout, nodes
    HIDDEN = 2  # nothing: pruned, kept for its descendants' delta channels
    ORPHAN = 3  # nothing: its parent is gone


_WITH_DETAILS = (Kind.CHECKPOINT, Kind.WRITES)


@dataclass(frozen=True, slots=True)
class Layout:
    """Names in a record.

    Attributes:
        body: The names as stored.
        digest: Its identity, 16 bytes.
    """

    body: bytes
    digest: bytes

    @classmethod
    def of(cls, names: Any) -> Layout:
        """Make one of nested lists of names.

        Raises:
            SerializationError: One holds what UTF-8 does not have.
        """
        body = _packed(names)
        return cls(body, blake2b(body, digest_size=16, person=b"layout").digest())


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A checkpoint with nodes for values.

    Attributes:
        versions: ``channel_versions``, ``versions_seen`` and ``updated_channels``, as they are.
        fields: Node of everything else the checkpoint holds beside its id.
        channels: Node of each channel that has a value.
        metadata: Node by key; with key None, the node of a dict of them.
    """

    versions: dict[str, Any] = field(default_factory=dict[str, Any])
    fields: dict[str, Node] = field(default_factory=dict[str, Node])
    channels: dict[str, Node] = field(default_factory=dict[str, Node])
    metadata: dict[str | None, Node] = field(default_factory=dict["str | None", Node])

    def nodes(self) -> Iterator[Node]:
        """Iterate over all nodes."""
        for group in (self.fields, self.channels, self.metadata):
            yield from group.values()

    def resolved(self, seqs: Sequence[int]) -> Skeleton:
        """Return it with the seqs that its new entries got."""
        if not seqs:
            return self
        return Skeleton(
            self.versions,
            {key: resolve(node, seqs) for key, node in self.fields.items()},
            {key: resolve(node, seqs) for key, node in self.channels.items()},
            {key: resolve(node, seqs) for key, node in self.metadata.items()},
        )


@dataclass(frozen=True, slots=True)
class TaskWrites:
    """What one call of ``put_writes`` wrote: the task, and channel and node of each write."""

    task_id: str
    task_path: str
    writes: list[tuple[str, Node]]


class Details(NamedTuple):
    """What a record says beyond whose it is.

    Attributes:
        other_id: The checkpoint's parent, or the task that wrote.
        time: When the checkpoint was made, microseconds since 1970.
        layout: Number of its layout; the layout itself where it is not stored apart.
        values: The values, or nodes.
        start: Where in the record's bytes they begin.
    """

    other_id: str | None
    time: int
    layout: int | bytes
    values: bytes
    start: int


@dataclass(frozen=True)
class Record:
    """A record as found in a log, most of which are passed over.

    Attributes:
        kind: What it is.
        checkpoint_id: The checkpoint it belongs to.
        seqs: Of the entries that were new.
        raw: All its bytes.
        place: Where in them the details begin.
        unseal: Decrypts its values, where they are encrypted.
    """

    kind: Kind
    checkpoint_id: str
    seqs: list[int]
    raw: bytes
    place: int
    unseal: Seal | None = None

    @property
    def details(self) -> Details:
        """What else it says, read when first asked for.

        Raises:
            SerializationError: It is damaged.
            EncryptionError: Its values cannot be decrypted.
        """
        # Not cached_property, whose lock a forked child may wait for: see Entry.message.
        read: Details | None = self.__dict__.get("_details")
        if read is None:
            read = self.__dict__["_details"] = self._read()
        return read

    def _read(self) -> Details:
        reader = Reader(self.raw, self.place)
        try:
            other_id = reader.identifier()
            time = 0
            if self.kind == Kind.CHECKPOINT:
                time = time_in(self.checkpoint_id) + reader.signed()
            layout = reader.number() or reader.data()
        except (IndexError, ValueError) as error:
            raise _unreadable(error) from error
        values = unsealed(self.raw, reader.at, self.unseal)
        return Details(other_id, time, layout, values, reader.at)


def layout_of_checkpoint(skeleton: Skeleton) -> tuple[Layout, bytes]:
    """Part a checkpoint into its layout and its values."""
    tree = {
        "v": _with_places(skeleton.versions),
        "f": skeleton.fields,
        "c": skeleton.channels,
        "m": skeleton.metadata,
    }
    keys, values = split(tree, _DEPTH)
    return Layout.of(keys), _packed(values)


def layout_of_writes(task: TaskWrites) -> tuple[Layout, bytes]:
    """Part a task's writes into their layout and their nodes."""
    layout = Layout.of([task.task_path, *(channel for channel, _ in task.writes)])
    return layout, _packed([node for _, node in task.writes])


def pack_checkpoint(
    checkpoint_id: str,
    parent_id: str | None,
    time: int,
    layout: int | bytes,
    values: bytes,
    *,
    seal: Seal | None = None,
) -> bytes:
    """Return the record of a checkpoint.

    Args:
        checkpoint_id: The checkpoint.
        parent_id: The one it was made from.
        time: When, in microseconds since 1970.
        layout: Number of its layout, or the layout.
        values: Its values.
        seal: Encrypts them.
    """
    writer = _begun(Kind.CHECKPOINT, checkpoint_id)
    writer.identifier(parent_id)
    writer.signed(time - time_in(checkpoint_id))
    return _ended(writer, layout, values, seal)


def pack_writes(
    checkpoint_id: str,
    task_id: str,
    layout: int | bytes,
    values: bytes,
    *,
    seal: Seal | None = None,
) -> bytes:
    """Return the record of a task's writes; ``seal`` encrypts them."""
    writer = _begun(Kind.WRITES, checkpoint_id)
    writer.identifier(task_id)
    return _ended(writer, layout, values, seal)


def pack_mark(kind: Kind, checkpoint_id: str) -> bytes:
    """Return a record that marks a checkpoint, as it stands in a log."""
    return b"\x00" + _framed(_begun(kind, checkpoint_id))


def skeleton_of(record: Record, layouts: Layouts) -> Skeleton:
    """Return what a checkpoint's record holds.

    Raises:
        SerializationError: It is damaged, or its layout is not among ``layouts``.
    """
    details = record.details
    try:
        tree = join(_names(details.layout, layouts), iter(ormsgpack.unpackb(details.values)))
        skeleton = Skeleton(_with_names(tree["v"]), tree["f"], tree["c"], tree["m"])
    except (ValueError, LookupError, TypeError, StopIteration) as error:
        raise SerializationError(f"a stored checkpoint cannot be read back: {error}") from error
    return skeleton.resolved(record.seqs)


def writes_of(record: Record, layouts: Layouts) -> TaskWrites:
    """Return what a record of pending writes holds.

    Raises:
        SerializationError: It is damaged, or its layout is not among ``layouts``.
    """
    details = record.details
    try:
        task_path, *channels = _names(details.layout, layouts)
        nodes = [resolve(node, record.seqs) for node in ormsgpack.unpackb(details.values)]
        writes = list(zip(channels, nodes, strict=True))
    except (ValueError, LookupError, TypeError) as error:
        raise SerializationError(f"stored writes cannot be read back: {error}") from error
    return TaskWrites(details.other_id or "", task_path, writes)


def read_log(log: bytes) -> Iterator[Record]:
    """Iterate over the records of a log.

    Raises:
        SerializationError: It is damaged.
    """
    at = 0
    unseal = log.unseal if isinstance(log, SealedLog) else None
    try:
        while at < len(log):
            count = log[at]
            seqs = list(struct.unpack_from(f">{count}i", log, at + 1))
            reader = Reader(log, at + 1 + 4 * count)
            end = reader.number() + reader.at
            kind = Kind(reader.number())
            checkpoint_id = reader.identifier() or ""
            place = reader.at - at
            reader.skip_to(end)
            yield Record(kind, checkpoint_id, seqs, log[at:end], place, unseal)
            at = end
    except (IndexError, ValueError, struct.error) as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> SerializationError:
    return SerializationError(f"a log of checkpoints cannot be read back: {error}")


def layout_numbers(records: Sequence[Record]) -> set[int]:
    """Return the layouts that records name."""
    layouts = (record.details.layout for record in records if record.kind in _WITH_DETAILS)
    return {layout for layout in layouts if isinstance(layout, int) and layout}


def _packed(names: Any) -> bytes:
    try:
        return ormsgpack.packb(names)
    except TypeError as error:
        raise SerializationError(
            f"a name of a channel or node, or a version, cannot be stored: {error}"
        ) from error


def _begun(kind: Kind, checkpoint_id: str) -> Writer:
    writer = Writer()
    writer.number(kind)
    writer.identifier(checkpoint_id)
    return writer


def _ended(writer: Writer, layout: int | bytes, values: bytes, seal: Seal | None) -> bytes:
    if isinstance(layout, int):
        writer.number(layout)
    else:
        writer.number(0)
        writer.data(layout)
    writer.rest(values if seal is None else seal(writer.bytes(), values))
    return _framed(writer)


def _framed(writer: Writer) -> bytes:
    framed = Writer()
    framed.data(writer.bytes())
    return framed.bytes()


def _names(layout: int | bytes, layouts: Layouts) -> list[Any]:
    if isinstance(layout, int):
        if layout not in layouts:
            raise LookupError(f"its layout {layout} is not there")
        layout = layouts[layout]
    return _unpacked(layout)


@lru_cache(maxsize=512)
def _unpacked(body: bytes) -> list[Any]:
    return ormsgpack.unpackb(body)


def _with_places(versions: dict[str, Any]) -> dict[str, Any]:
    """Name the updated channels by their places among the versions."""
    names = versions.get("updated_channels")
    if not isinstance(names, list):
        return versions
    places = {name: place for place, name in enumerate(versions["channel_versions"])}
    listed = cast("list[str]", names)
    return {**versions, "updated_channels": [places.get(name, name) for name in listed]}


def _with_names(versions: dict[str, Any]) -> dict[str, Any]:
    listed = versions.get("updated_channels")
    if not isinstance(listed, list):
        return versions
    names = list(versions["channel_versions"])
    places = cast("list[int | str]", listed)
    named = [names[place] if isinstance(place, int) else place for place in places]
    return {**versions, "updated_channels": named}
