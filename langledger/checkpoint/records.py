"""The bytes of a checkpoint's row: what LangGraph puts, as layout and values.

Names of channels, nodes and metadata keys are the same from step to step. They form the
*layout*, which is stored once and named by its hash; a row holds the values alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, cast

import ormsgpack

from langledger.checkpoint.keys import pack_id, unpack_id
from langledger.checkpoint.tree import Node, resolve
from langledger.errors import SerializationError

__all__ = [
    "Layout",
    "Skeleton",
    "TaskWrites",
    "join",
    "pack_body",
    "pack_writes",
    "split",
    "unpack_body",
    "unpack_seqs",
    "unpack_writes",
    "with_layout",
]

_LENGTH = struct.Struct(">I")
_COUNT = struct.Struct(">H")


@dataclass(frozen=True, slots=True)
class Layout:
    """The names in a checkpoint.

    Attributes:
        body: The names as stored.
        number: 64 bits of a hash of ``body``.
    """

    body: bytes
    number: int

    @classmethod
    def of(cls, tree: Any) -> Layout:
        """Make one of what :func:`split` found."""
        body = ormsgpack.packb(tree, option=ormsgpack.OPT_NON_STR_KEYS)
        digest = blake2b(body, digest_size=8, person=b"layout").digest()
        return cls(body, int.from_bytes(digest, "big", signed=True))


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A checkpoint with nodes for values.

    Attributes:
        versions: ``channel_versions``, ``versions_seen`` and ``updated_channels``, as they are.
        fields: Node of everything else the checkpoint holds beside its id.
        channels: Node of each channel that has a value.
        metadata: Node by key; with key None, the node of a dict of them.
    """

    versions: dict[str, Any]
    fields: dict[str, Node]
    channels: dict[str, Node]
    metadata: dict[str | None, Node]

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


def split(tree: Mapping[str, Any], depth: int) -> tuple[list[Any], list[Any]]:
    """Part a tree of dicts, ``depth`` levels of them, into its keys and its values.

    Returns:
        The keys, a dict inside as ``[key, [keys]]``; and the values in the same order.
    """
    keys: list[Any] = []
    values: list[Any] = []
    for key, value in tree.items():
        if depth > 1 and type(value) is dict:
            inner, below = split(cast("dict[str, Any]", value), depth - 1)
            keys.append([key, inner])
            values += below
        else:
            keys.append(key)
            values.append(value)
    return keys, values


def join(keys: Sequence[Any], values: Iterator[Any]) -> dict[str, Any]:
    """Put together what :func:`split` parted."""
    tree: dict[str, Any] = {}
    for key in keys:
        if isinstance(key, list):
            name, inner = cast("list[Any]", key)
            tree[name] = join(inner, values)
        else:
            tree[key] = next(values)
    return tree


def pack_body(skeleton: Skeleton) -> tuple[Layout, bytes]:
    """Return the layout of a checkpoint and the bytes of its values."""
    tree = {
        "v": _with_places(skeleton.versions),
        "f": skeleton.fields,
        "c": skeleton.channels,
        "m": skeleton.metadata,
    }
    keys, values = split(tree, _DEPTH)
    return Layout.of(keys), ormsgpack.packb(values)


def with_layout(layout: Layout, payload: bytes) -> bytes:
    """Return the bytes of a checkpoint whose layout is not stored apart."""
    return _LENGTH.pack(len(layout.body)) + layout.body + payload


def unpack_body(layout: bytes | None, payload: bytes) -> Skeleton:
    """Return the checkpoint that :func:`pack_body` packed.

    Args:
        layout: Names as stored; None where they are in the payload.
        payload: What stands behind the seqs.

    Raises:
        SerializationError: The bytes are damaged.
    """
    try:
        if layout is None:
            (length,) = _LENGTH.unpack_from(payload)
            layout, payload = payload[4 : 4 + length], payload[4 + length :]
        tree = join(_keys(layout), iter(ormsgpack.unpackb(payload)))
        return Skeleton(_with_names(tree["v"]), tree["f"], tree["c"], tree["m"])
    except (ValueError, LookupError, TypeError, StopIteration, struct.error) as error:
        raise SerializationError(f"a stored checkpoint cannot be read back: {error}") from error


def pack_writes(task: TaskWrites) -> bytes:
    """Return the bytes of a task's writes, their length before them."""
    flat = [part for write in task.writes for part in write]
    payload = ormsgpack.packb([pack_id(task.task_id), task.task_path, *flat])
    return _LENGTH.pack(len(payload)) + payload


def unpack_writes(data: bytes) -> Iterator[tuple[list[int], TaskWrites]]:
    """Iterate over what several calls wrote, each with the seqs of its new entries.

    Raises:
        SerializationError: The bytes are damaged.
    """
    at = 0
    try:
        while at < len(data):
            seqs, at = unpack_seqs(data, at)
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            task_id, task_path, *flat = ormsgpack.unpackb(data[at : at + length])
            at += length
            writes = list(zip(flat[::2], flat[1::2], strict=True))
            yield seqs, TaskWrites(unpack_id(task_id), task_path, writes)
    except (ValueError, TypeError, struct.error) as error:
        raise SerializationError(f"stored writes cannot be read back: {error}") from error


def unpack_seqs(data: bytes, at: int = 0) -> tuple[list[int], int]:
    """Read the seqs that the database put before a body or writes.

    Returns:
        The seqs of the entries that were new then, and where what follows them begins.
    """
    (count,) = _COUNT.unpack_from(data, at)
    at += _COUNT.size
    return list(struct.unpack_from(f">{count}q", data, at)), at + 8 * count


# The tree's own level, what the versions are of, then node or channel, then channel.
_DEPTH = 4


@lru_cache(maxsize=512)
def _keys(layout: bytes) -> list[Any]:
    return ormsgpack.unpackb(layout)


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
