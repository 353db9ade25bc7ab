"""Copying a thread, in the database or, where that holds ciphertexts, by way of here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from langledger.checkpoint.resealing import resealed
from langledger.checkpoint.sealed_logs import open_log, seal_of
from langledger.database.queries import load_queries
from langledger.encryption import Content, Later, Vault, contents, named
from langledger.encryption.marks import InClear, Many
from langledger.encryption.places import (
    COMPACTION_REPORT,
    COMPACTION_VIEW,
    ENTRY_BODY,
    ENTRY_METADATA,
    THREAD_METADATA,
)
from langledger.entries import Location
from langledger.errors import ConfigurationError, DatabaseError
from langledger.operations import Operation, Query, Row, fetch, fetch_all

__all__ = ["copy_thread"]

_queries = load_queries("langledger.checkpoint")

_PAGE = 1000  # rows that are written by one statement
_BOUND = "a ciphertext is bound to its thread: copy the thread with a checkpointer that encrypts"


def copy_thread(location: Location, target: Location, *, encrypts: bool = False) -> Operation[None]:
    """Copy a thread, with its history, to one that does not exist yet.

    Args:
        location: The thread.
        target: The new one.
        encrypts: Content is encrypted, and bound to its thread: it is read and encrypted anew.

    Raises:
        ConfigurationError: The target exists.
    """
    if encrypts:
        yield from _copy_sealed(location, target)
        return
    rows = yield from fetch(
        _queries["copy"],
        **location.keys,
        target_key=target.keys["thread_key"],
        target_id=InClear(target.thread_id, _BOUND),
    )
    if rows[0]["found"] and not rows[0]["made"]:
        raise _exists(target)


def _copy_sealed(location: Location, target: Location) -> Operation[None]:
    # The thread's row is held meanwhile, so that what is read belongs together.
    thread, entries, compactions, checkpoints = yield from fetch_all(
        Query(_queries["copied_thread"], location.keys),
        Query(_queries["copied_entries"], location.keys),
        Query(_queries["copied_compactions"], location.keys),
        Query(_queries["copied_checkpoints"], location.keys, reads=open_log),
    )
    if not thread:
        return
    queries = [
        _thread(target, thread[0]),
        *_pages(target, "copy_entries", entries, _entries),
        *_pages(target, "copy_compactions", compactions, _compactions),
        *_pages(target, "copy_checkpoints", checkpoints, partial(_checkpoints, target)),
    ]
    try:
        yield from fetch_all(*queries, repeatable=False)
    except DatabaseError as error:
        if isinstance(error.__cause__, psycopg.errors.UniqueViolation):
            raise _exists(target) from error
        raise


def _thread(target: Location, row: Row) -> Query:
    about = Content(THREAD_METADATA, Jsonb(row["metadata"]))
    params = {**row, **target.keys, "thread_id": target.thread_id, "metadata": about}
    return Query(_queries["copy_row"], params)


def _pages(
    target: Location,
    name: str,
    rows: Sequence[Row],
    columns: Callable[[Sequence[Row]], dict[str, Any]],
) -> list[Query]:
    """Return the statements that insert rows into the target, some at a time."""
    pages = (rows[at : at + _PAGE] for at in range(0, len(rows), _PAGE))
    return [Query(_queries[name], {**target.keys, **columns(page)}) for page in pages]


def _plain(rows: Sequence[Row], *names: str) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in names}


def _entries(rows: Sequence[Row]) -> dict[str, Any]:
    digests = named(row["digest"] for row in rows)
    names = ("seq", "occurrence", "tokens", "created_at", "kind", "role", "message_id", "task_id")
    return {
        **_plain(rows, *names, "user_id", "scope", "refs"),
        "digest": digests,
        "body": contents(ENTRY_BODY, (row["body"] for row in rows), digest=digests),
        "metadata": contents(
            ENTRY_METADATA,
            (None if row["metadata"] is None else Jsonb(row["metadata"]) for row in rows),
            digest=digests,
        ),
    }


def _compactions(rows: Sequence[Row]) -> dict[str, Any]:
    key = _plain(rows, "scope", "generation")
    reports = (Jsonb(row["report"]) for row in rows)
    return {
        **key,
        **_plain(rows, "covered", "masked", "boundary", "seen", "created_at"),
        "view": contents(COMPACTION_VIEW, (row["view"] for row in rows), **key),
        "report": contents(COMPACTION_REPORT, reports, **key),
    }


def _checkpoints(target: Location, rows: Sequence[Row]) -> dict[str, Any]:
    key = target.keys["thread_key"]
    logs = (Later(partial(_log, row, key), writes=True) for row in rows)
    names = ("part", "name", "first_id", "last_id", "refs", "snapshots", "run_ids")
    return {**_plain(rows, *names), "log": Many(logs)}


def _log(row: Row, thread_key: object, vault: Vault | None) -> bytes:
    seal = seal_of(vault, {"thread_key": thread_key, "checkpoint_ns": row["name"]})
    return row["body"] if seal is None else resealed(row["body"], seal)


def _exists(target: Location) -> ConfigurationError:
    return ConfigurationError(
        f"thread {target.thread_id!r} exists already: delete it first, or copy to another id"
    )
