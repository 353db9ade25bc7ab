"""Taking checkpoints out of the logs they stand in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby

from langledger.checkpoint.cache import multirange
from langledger.checkpoint.reading import Key
from langledger.checkpoint.records import (
    Kind,
    Layouts,
    Record,
    pack_mark,
    read_log,
    skeleton_of,
    writes_of,
)
from langledger.checkpoint.tree import Node, references
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.operations import Query, Row

__all__ = ["Change", "Stretch", "changes", "stretches_in"]

_queries = load_queries("langledger.checkpoint")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A row of a log, or several parts of one.

    Attributes:
        checkpoint_ns: Its namespace.
        first_id: Its key.
        size: Bytes of its log, by which a change since is seen.
        records: In order.
    """

    checkpoint_ns: str
    first_id: bytes
    size: int
    records: Sequence[Record]

    def checkpoints(self) -> set[Key]:
        """Return the checkpoints in it."""
        return {_key(self, record) for record in self.records}


@dataclass(slots=True)
class Change:
    """What pruning does to a thread's checkpoints.

    Attributes:
        drop: Those that go.
        hide: Those that are only kept for others' delta channels.
        orphans: Those whose parent goes.
        run_ids: Runs of which nothing is left.
    """

    drop: AbstractSet[Key]
    hide: AbstractSet[Key] = frozenset()
    orphans: AbstractSet[Key] = frozenset()
    run_ids: Sequence[str] = field(default_factory=list[str])


def stretches_in(rows: Iterable[Row]) -> Iterator[Stretch]:
    """Iterate over the stretches in rows, which are in order of namespace, id and part."""
    for (name, first_id), parts in groupby(rows, key=lambda row: (row["name"], row["id"])):
        logs = [row["body"] for row in parts]
        records = [record for log in logs for record in read_log(log)]
        yield Stretch(name, first_id, sum(map(len, logs)), records)


def changes(
    location: Location, stretches: Iterable[Stretch], change: Change, layouts: Layouts
) -> tuple[list[Stretch], list[tuple[Stretch, Query]]]:
    """Return the stretches of which nothing is left, and the statements that rewrite others."""
    empty: list[Stretch] = []
    rewritten: list[tuple[Stretch, Query]] = []
    for stretch in stretches:
        left = [r for r in stretch.records if _key(stretch, r) not in change.drop]
        marks = list(_marks(stretch, left, change))
        if not left:
            empty.append(stretch)
        elif marks or len(left) < len(stretch.records):
            log = b"".join([*(record.raw for record in left), *marks])
            parameters = {
                **location.keys,
                "checkpoint_ns": stretch.checkpoint_ns,
                "first_id": stretch.first_id,
                "size": stretch.size,
                "log": log,
                "refs": _refs(left, layouts),
                "run_ids": list(change.run_ids),
            }
            rewritten.append((stretch, Query(_queries["rewrite_stretch"], parameters)))
    return empty, rewritten


def _marks(stretch: Stretch, left: Sequence[Record], change: Change) -> Iterator[bytes]:
    for record in left:
        key = _key(stretch, record)
        if record.kind == Kind.CHECKPOINT and key in change.hide:
            yield pack_mark(Kind.HIDDEN, record.checkpoint_id)
        if record.kind == Kind.CHECKPOINT and key in change.orphans:
            yield pack_mark(Kind.ORPHAN, record.checkpoint_id)


def _refs(records: Iterable[Record], layouts: Layouts) -> str:
    runs = {
        run for record in records for node in _nodes(record, layouts) for run in references(node)
    }
    return multirange(sorted(runs))


def _nodes(record: Record, layouts: Layouts) -> Iterable[Node]:
    if record.kind == Kind.CHECKPOINT:
        return skeleton_of(record, layouts).nodes()
    if record.kind == Kind.WRITES:
        return [node for _, node in writes_of(record, layouts).writes]
    return []


def _key(stretch: Stretch, record: Record) -> Key:
    return stretch.checkpoint_ns, record.checkpoint_id
