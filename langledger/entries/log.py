"""Operations on a thread's entries: append, load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from psycopg.types.json import Jsonb

from langledger.arguments import check_tenant, check_text, check_whole
from langledger.database.queries import load_queries
from langledger.encryption import Content, contents, named
from langledger.encryption.places import ENTRY_BODY, ENTRY_METADATA, THREAD_METADATA
from langledger.entries.checks import checked_facts, checked_messages, checked_tokens, dumped
from langledger.entries.codec import compress, decompress, digest, load_message, split_id
from langledger.operations import Operation, Query, Row, fetch, fetch_all
from langledger.telemetry import traced

__all__ = [
    "Entry",
    "Location",
    "Recorded",
    "about",
    "append",
    "append_query",
    "entry_of",
    "load",
    "message_ids",
]

_queries = load_queries("langledger.entries")

# Above these a cold process first asks what is already there instead of sending it all again.
_ASK_FIRST_MESSAGES = 64
_AT_END = -1


@dataclass(frozen=True, slots=True)
class Location:
    """Where rows of a thread live.

    Attributes:
        tenant: Whose thread it is.
        thread_id: The application's name for it.
        scope: Checkpoint namespace (without task ids) and agent; empty for the root agent.
    """

    tenant: str
    thread_id: str
    scope: str = ""

    def __post_init__(self) -> None:
        check_tenant(self.tenant)
        check_text("thread_id", self.thread_id)
        check_text("scope", self.scope, empty=True)

    @property
    def keys(self) -> dict[str, Any]:
        """Parameters ``tenant`` and ``thread_key`` of every statement on a thread."""
        return {"tenant": self.tenant, "thread_key": thread_key(self.tenant, self.thread_id)}


@lru_cache(maxsize=4096)
def thread_key(tenant: str, thread_id: str) -> UUID:
    """Return the 16-byte key of a thread, so that no statement has to look it up."""
    name = f"{tenant}\x00{thread_id}".encode()
    return UUID(bytes=blake2b(name, digest_size=16).digest())


@dataclass(frozen=True)
class Entry:
    """One message as recorded.

    Attributes:
        entry_id: Position in the thread, from 1, in order of recording.
        thread_id: The thread it belongs to.
        role: ``human``, ``ai``, ``tool``, ``system``, ...
        tokens: Size as counted when recorded, or None.
        scope: Checkpoint namespace and agent that recorded it; None for the root agent.
    """

    entry_id: int
    thread_id: str
    role: str
    created_at: datetime
    message_id: str | None
    tokens: int | None
    task_id: str | None
    user_id: str | None
    scope: str | None
    metadata: Mapping[str, Any]
    body: bytes = field(repr=False)

    @property
    def message(self) -> BaseMessage:
        """The message, equal to the one that was recorded.

        Raises:
            SerializationError: The stored bytes cannot be read back.
        """
        # Not cached_property: until Python 3.12 that takes a lock, which a forked child would
        # wait for if another thread held it.
        read: BaseMessage | None = self.__dict__.get("_message")
        if read is None:
            read = self.__dict__["_message"] = load_message(*decompress(self.body), self.message_id)
        return read


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an append did.

    Attributes:
        entry_ids: The entry of each message given, in the same order.
        added: How many were not there before.
        also: Rows of the statement that was run along, if one was.
        waiting: How many wait in memory for the database to come back; they have no entries yet.
    """

    entry_ids: list[int]
    added: int
    also: list[Row] = field(default_factory=list[Row])
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _Item:
    digest: bytes
    place: int | None  # as append_entries takes it: None by content and id, _AT_END, or n-th
    tokens: int | None
    role: str
    message_id: str | None
    body: bytes
    metadata: Mapping[str, Any] | None


def _told(location: Location, *_: object, **__: object) -> Mapping[str, Any]:
    name = {"gen_ai.conversation.id": location.thread_id}
    return {"gen_ai.operation.name": "create_memory", **name}


def _found(recorded: Recorded) -> Mapping[str, Any]:
    return {"langledger.entries": len(recorded.entry_ids), "langledger.added": recorded.added}


@traced("langledger.append", _told, _found)
def append(
    location: Location,
    messages: Sequence[BaseMessage],
    *,
    from_start: bool = False,
    task_id: str | None = None,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    tokens: Sequence[int] | None = None,
    about: Mapping[str, Any] | None = None,
    also: Query | None = None,
) -> Operation[Recorded]:
    """Record messages; one round trip, and all of them or none.

    A message that carries an id is recorded once however often it is given; the same id
    with other content is another entry. Messages without id are told apart by content and
    position: with ``from_start`` the list is the thread from its beginning, so those
    already there are recognised; without it they follow what is there.

    Args:
        location: The thread.
        messages: What to record, in order.
        from_start: The list begins at the thread's beginning.
        task_id: Task the messages belong to.
        user_id: User the thread belongs to.
        metadata: Kept with each new entry.
        tokens: Size of each message, where counted.
        about: Facts of the thread as a whole, kept with it, such as its ``cwd``.
        also: A statement to run in the same round trip, after the append.

    Raises:
        ConfigurationError: An argument is of the wrong kind; nothing is recorded.
        SerializationError: A message, or a fact, holds a value that cannot be stored; nothing
            is recorded.
    """
    messages = checked_messages(messages)
    checked_tokens(tokens, messages)
    metadata = checked_facts("metadata", metadata)
    about = checked_facts("about", about)
    task_id = None if task_id is None else check_text("task_id", task_id)
    user_id = None if user_id is None else check_text("user_id", user_id)
    items, places = _items(messages, from_start=from_start, metadata=metadata, tokens=tokens)
    known: dict[int, int] = {}
    if len(items) > _ASK_FIRST_MESSAGES:
        known = yield from _known(location, items)
    waiting = [index for index in range(len(items)) if index not in known]
    fresh = [items[index] for index in waiting]
    queries: tuple[Query, ...] = ()
    if fresh:
        queries = append_query(location, fresh, task_id=task_id, user_id=user_id, about=about)
    queries = (*queries, also) if also is not None else queries
    if not queries:
        return Recorded([known[place] for place in places], 0)
    # Messages without id are placed at the end: sending them twice would record them twice.
    repeatable = not any(item.place == _AT_END for item in fresh)
    results = yield from fetch_all(*queries, repeatable=repeatable)
    rows = results[1] if fresh else []
    seqs = known | {index: row["seq"] for index, row in zip(waiting, rows, strict=True)}
    added = sum(row["fresh"] for row in rows)
    return Recorded(
        [seqs[place] for place in places], added, results[-1] if also is not None else []
    )


def append_query(
    location: Location,
    items: Sequence[_Item],
    *,
    task_id: str | None,
    user_id: str | None,
    about: Mapping[str, Any] | None,
) -> tuple[Query, Query]:
    """Return the two statements that record ``items``; they must run in one transaction."""
    lock = Query(
        _queries["lock_thread"],
        {
            **location.keys,
            "thread_id": location.thread_id,
            "user_id": user_id,
            "about": Content(THREAD_METADATA, Jsonb(dict(about or {}))),
        },
    )
    names = named(item.digest for item in items)
    insert = Query(
        _queries["append"],
        {
            **location.keys,
            "task_id": task_id,
            "user_id": user_id,
            "scope": location.scope or None,
            "digests": names,
            "places": [item.place for item in items],
            "tokens": [item.tokens for item in items],
            "roles": [item.role for item in items],
            "message_ids": [item.message_id for item in items],
            "bodies": contents(ENTRY_BODY, (item.body for item in items), digest=names),
            "metadata": contents(
                ENTRY_METADATA,
                (Jsonb(item.metadata) if item.metadata else None for item in items),
                digest=names,
            ),
        },
    )
    return lock, insert


def load(location: Location, entry_ids: Iterable[int]) -> Operation[list[Entry]]:
    """Return the entries with these ids, oldest first; unknown ids are left out."""
    wanted = [check_whole("an entry id", entry_id) for entry_id in entry_ids]
    rows = yield from fetch(_queries["entries_by_seq"], **location.keys, seqs=wanted)
    return [entry_of(location.thread_id, row) for row in rows]


def message_ids(location: Location, entry_ids: Iterable[int]) -> Operation[set[str]]:
    """Return the message ids that these entries were recorded with."""
    rows = yield from fetch(_queries["message_ids"], **location.keys, seqs=list(entry_ids))
    return {row["message_id"] for row in rows}


def about(location: Location) -> Operation[Mapping[str, Any]]:
    """Return what is kept of the thread as a whole, empty for one that does not exist."""
    rows = yield from fetch(_queries["about"], **location.keys)
    return rows[0]["metadata"] if rows else {}


def _known(location: Location, items: Sequence[_Item]) -> Operation[dict[int, int]]:
    asked = [index for index, item in enumerate(items) if item.place != _AT_END]
    rows = yield from fetch(
        _queries["known"],
        **location.keys,
        digests=named(items[index].digest for index in asked),
        places=[items[index].place for index in asked],
        message_ids=[items[index].message_id for index in asked],
        tokens=[items[index].tokens for index in asked],
    )
    return {asked[row["ord"] - 1]: row["seq"] for row in rows}


def _items(
    messages: Sequence[BaseMessage],
    *,
    from_start: bool,
    metadata: Mapping[str, Any] | None,
    tokens: Sequence[int] | None,
) -> tuple[list[_Item], list[int]]:
    """Return the distinct contents, and for each message the place of its content among them."""
    items: list[_Item] = []
    places: list[int] = []
    seen: Counter[bytes] = Counter()
    first: dict[tuple[bytes, str], int] = {}
    for index, message in enumerate(messages):
        bare, message_id = split_id(message)
        kind, payload = dumped(bare, f"messages[{index}]")
        name = digest(kind, payload)
        if message_id is not None and (name, message_id) in first:
            places.append(first[name, message_id])
            continue
        place = seen[name] if from_start else _AT_END
        if message_id is None:
            seen[name] += 1
        else:
            first[name, message_id] = len(items)
            place = None
        places.append(len(items))
        items.append(
            _Item(
                digest=name,
                place=place,
                tokens=tokens[index] if tokens is not None else None,
                role=message.type,
                message_id=message_id,
                body=compress(kind, payload),
                metadata=metadata,
            )
        )
    return items, places


def entry_of(thread_id: str, row: Row) -> Entry:
    """Return the entry that a row of the table ``entry`` is."""
    return Entry(
        entry_id=row["seq"],
        thread_id=thread_id,
        role=row["role"],
        created_at=row["created_at"],
        message_id=row["message_id"],
        tokens=row["tokens"],
        task_id=row["task_id"],
        user_id=row["user_id"],
        scope=row["scope"],
        metadata=row["metadata"] or {},
        body=row["body"],
    )
