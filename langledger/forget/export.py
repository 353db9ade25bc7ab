"""Everything that is held about a user, a record at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, cast
from uuid import UUID

from langchain_core.messages import BaseMessage, message_to_dict
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel

from langledger.arguments import check_text
from langledger.checkpoint.cache import Cache
from langledger.checkpoint.keys import Target
from langledger.checkpoint.reading import load
from langledger.checkpoint.sealing import Open
from langledger.compaction.records import cut_of
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.entries.log import entry_of
from langledger.errors import SerializationError
from langledger.memory.known_facts import facts_namespace
from langledger.memory.values import restored
from langledger.operations import Operation, Row, fetch

__all__ = ["Record", "Source", "labels_of", "page", "sources"]

_queries = load_queries("langledger.forget")

_PAGE = 500

Record: TypeAlias = dict[str, Any]
"""One thing that is held: ``type``, ``thread_id`` where it is of a thread, and what it is."""

_OF_THREADS = {
    "pin": "export_pins",
    "state_event": "export_state_events",
    "state_record": "export_state_records",
    "recalled": "export_recalled",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where records come from, a page at a time.

    Attributes:
        read: Returns the records after a number, and the number to go on from; None: that is all.
    """

    read: Callable[[int], Operation[tuple[list[Record], int | None]]]


def labels_of(user_id: str) -> list[str]:
    """Return the labels by which namespaces of the store name a user."""
    return list(dict.fromkeys([user_id, facts_namespace(user_id)[-1]]))


def sources(tenant: str, user_id: str) -> Operation[list[Source]]:
    """Return where the records of a user are read from, in order.

    Args:
        tenant: Whose user.
        user_id: The user.
    """
    check_text("user_id", user_id)
    threads = yield from fetch(_queries["users_threads"], tenant=tenant, user_id=user_id)
    found: list[Source] = []
    for row in threads:
        location = Location(tenant, row["thread_id"])
        only = user_id if row["shared"] else None
        if only is None:
            found.append(_once(lambda at=location: _about(at)))
        found.append(Source(lambda after, at=location, who=only: _entries(at, who, after)))
        if only is None:
            found.append(_once(lambda at=location: _derived(at)))
            found.append(_once(lambda at=location: _checkpoints(at)))
    found.append(_once(lambda: _items(tenant, user_id)))
    return found


def page(source: Source, after: int) -> Operation[tuple[list[Record], int | None]]:
    """Return records of a source, and what to go on from; None at its end."""
    return (yield from source.read(after))


def _once(read: Callable[[], Operation[list[Record]]]) -> Source:
    def whole(_: int) -> Operation[tuple[list[Record], int | None]]:
        return (yield from read()), None

    return Source(whole)


def _about(location: Location) -> Operation[list[Record]]:
    rows = yield from fetch(_queries["export_thread"], **location.keys)
    return [{"type": "thread", **_plain(row)} for row in rows]


def _entries(
    location: Location, only: str | None, after: int
) -> Operation[tuple[list[Record], int | None]]:
    rows = yield from fetch(
        _queries["export_entries"], **location.keys, after=after, only=only, limit=_PAGE
    )
    records = [_entry(location, row) for row in rows]
    return records, rows[-1]["seq"] if len(rows) == _PAGE else None


def _entry(location: Location, row: Row) -> Record:
    entry = entry_of(location.thread_id, row)
    told = ("entry_id", "thread_id", "created_at", "task_id", "user_id", "scope", "metadata")
    said = {name: getattr(entry, name) for name in told}
    return {"type": "entry", **_plain(said), "message": _plain(entry.message)}


# What a row is found by, and says nothing.
_INTERNAL = {"digest", "event_id", "seq"}


def _derived(location: Location) -> Operation[list[Record]]:
    """Return what was made of a thread's entries: summaries, pins, state, what was recalled."""
    records: list[Record] = []
    for row in (yield from fetch(_queries["export_compactions"], **location.keys)):
        cut = cut_of(row)
        made = {
            "scope": row["scope"],
            "generation": cut.generation,
            "created_at": row["created_at"],
        }
        text = {"summary": cut.summary, "head": cut.head, "state": cut.state}
        records.append({"type": "compaction", **_plain({**made, **text, "report": row["report"]})})
    for kind, name in _OF_THREADS.items():
        rows = yield from fetch(_queries[name], **location.keys)
        told = [{k: v for k, v in row.items() if k not in _INTERNAL} for row in rows]
        records += [{"type": kind, **_plain(row)} for row in told]
    return [{"thread_id": location.thread_id, **record} for record in records]


def _checkpoints(location: Location) -> Operation[list[Record]]:
    """Return the newest checkpoint of each namespace: the graph's state as it is."""
    cache, sealing = Cache(0), Open(JsonPlusSerializer())
    rows = yield from fetch(_queries["export_namespaces"], **location.keys)
    records: list[Record] = []
    for row in rows:
        name = row["checkpoint_ns"]
        record = {"type": "checkpoint", "thread_id": location.thread_id, "checkpoint_ns": name}
        where = {"thread_id": location.thread_id, "checkpoint_ns": name}
        try:
            target = Target.of(location.tenant, {"configurable": where})
            found = yield from load(cache, sealing, target)
        except SerializationError as error:  # it was encrypted, by a key that we do not have
            records.append({**record, "unreadable": str(error)})
            continue
        if found is not None:
            said = {"checkpoint": found.checkpoint, "metadata": found.metadata}
            writes = [write[1:] for write in found.pending_writes or ()]
            records.append({**record, **_plain(said), "pending_writes": _plain(writes)})
    return records


def _items(tenant: str, user_id: str) -> Operation[list[Record]]:
    items = yield from fetch(_queries["export_items"], tenant=tenant, labels=labels_of(user_id))
    receipts = yield from fetch(_queries["export_receipts"], tenant=tenant, user_id=user_id)
    return [
        *({"type": "item", **_plain({**row, "value": restored(row["value"])})} for row in items),
        *({"type": "receipt", **_plain(row)} for row in receipts),
    ]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what JSON does not know becomes text."""
    match value:
        case None | str() | int() | float():
            return value
        case BaseMessage():
            plain: Any = message_to_dict(value)
        case BaseModel():
            plain = value.model_dump()
        case datetime():
            return value.isoformat()
        case _:
            plain = value
    return _inside(plain)


def _inside(value: Any) -> Any:
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): _plain(item) for key, item in items}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    return str(value) if isinstance(value, UUID) else repr(value)
