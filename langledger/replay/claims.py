"""The name of a replay's thread: taken by one, and told apart until it is whole.

A replay writes ``{"replay": {"file", "digest", "window", "complete"}}`` into its thread's
metadata before the first message. ``complete`` becomes true at the very end, so what a
killed process left behind is known for it, and the next replay of that name replaces it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Any

from psycopg.types.json import Jsonb

from langledger.database.connection import connect
from langledger.database.failures import translated
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.entries.codec import digest, dump_message, split_id, storable
from langledger.errors import ConfigurationError, DatabaseError
from langledger.ledger import Ledger
from langledger.operations import Operation, Query, fetch, fetch_all, run
from langledger.replay.session import Session

__all__ = ["claim", "claimed", "complete", "describe", "discard", "readable", "unfinished"]

_queries = load_queries("langledger.replay")


def describe(session: Session, *, window: int) -> dict[str, Any]:
    """Return what a replay's thread says of where it came from.

    ``digest`` is of the messages, so the same session has the same one in another format of
    file, and at another place.

    Raises:
        SerializationError: A message holds a value that cannot be stored.
    """
    whole = blake2b(digest_size=16)
    for item in session.messages:
        whole.update(digest(*dump_message(split_id(item.message)[0])))
    name = readable(session.name)
    return {"file": name, "digest": whole.hexdigest(), "window": window, "complete": False}


def readable(name: str) -> str:
    """Return a file's name as UTF-8 text, whatever the locale made of it."""
    with suppress(UnicodeEncodeError):  # then it is not from a file system
        name = os.fsencode(name).decode("utf-8", "replace")
    return storable(name)


@contextmanager
def claimed(ledger: Ledger, thread_id: str, about: Mapping[str, Any]) -> Generator[None]:
    """Take a thread's name for a replay, and keep the thread only if the block ends well.

    Args:
        ledger: Where the thread is.
        thread_id: A name that is free, or that an unfinished replay left.
        about: As :func:`describe` returns it.

    Raises:
        ConfigurationError: The thread exists, or another replay is writing it now.
    """
    location = Location(ledger.tenant, thread_id)
    with _held(ledger.dsn, location):
        try:
            _take(ledger, location, about)
            yield
            run(complete(location), ledger.executor)
        except BaseException as error:
            _give_up(ledger, location, error)
            raise


def _take(ledger: Ledger, location: Location, about: Mapping[str, Any]) -> None:
    if not run(claim(location, about), ledger.executor):
        raise ConfigurationError(
            f"the thread {location.thread_id!r} exists already; give another name"
        )


def claim(location: Location, about: Mapping[str, Any]) -> Operation[bool]:
    """Create the thread, in place of an unfinished one; False where it exists.

    The caller holds the name, so nobody is writing an unfinished one.
    """
    row = {"thread_id": location.thread_id, "metadata": Jsonb({"replay": dict(about)})}
    _, made = yield from fetch_all(
        Query(_queries["discard"], location.keys),
        Query(_queries["claim"], {**location.keys, **row}),
    )
    return bool(made)


def complete(location: Location) -> Operation[None]:
    """Mark a replay's thread as whole."""
    yield from fetch_all(Query(_queries["complete"], location.keys))


def discard(location: Location) -> Operation[bool]:
    """Remove a thread that a replay did not finish; False where there is none."""
    return bool((yield from fetch(_queries["discard"], **location.keys)))


def unfinished(tenant: str) -> Operation[set[str]]:
    """Return the threads that a replay has not finished: it runs, or it was killed."""
    rows = yield from fetch(_queries["unfinished"], tenant=tenant)
    return {row["thread_id"] for row in rows}


@contextmanager
def _held(dsn: str, location: Location) -> Generator[None]:
    """Keep other replays from this thread; a process that dies lets go at once."""
    key = int.from_bytes(location.keys["thread_key"].bytes[:8], signed=True)
    connection = connect(dsn)
    try:
        with translated():
            connection.execute("BEGIN")
            row = connection.execute(_queries["hold"], {"key": key}).fetchone()
            # Last, and without parameters: a statement with some would keep its snapshot open,
            # and with it every dead row version of the database from being cleared away.
            connection.execute(_queries["keep_waiting"])
        if not row or not row["held"]:
            raise ConfigurationError(
                f"another replay is writing the thread {location.thread_id!r} now; "
                "give another name"
            )
        yield
    finally:
        connection.close()


def _give_up(ledger: Ledger, location: Location, error: BaseException) -> None:
    """Remove what was written, and note on the error what became of it."""
    name = location.thread_id
    try:
        if run(discard(location), ledger.executor):
            error.add_note(f"the unfinished thread {name!r} was removed")
    except DatabaseError:
        error.add_note(
            f"the unfinished thread {name!r} may be left; a replay of that name replaces it"
        )
