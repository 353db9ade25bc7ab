"""Why there is nothing of a thread to show."""

from __future__ import annotations

from langledger.database.queries import load_queries
from langledger.entries.log import Location
from langledger.operations import Operation, fetch

__all__ = ["why_empty"]

_queries = load_queries("langledger.entries")


def why_empty(location: Location) -> Operation[str]:
    """Return why a thread has no entries to show, and what to do about it."""
    rows = yield from fetch(_queries["is_there"], **location.keys)
    thread = repr(location.thread_id)
    if rows[0]["sealed"]:
        return (
            f"thread {thread} is encrypted: only a checkpointer with its serialiser and key can "
            "read it, from Python: ledger.checkpointer(serde=...).get_tuple(...)"
        )
    if rows[0]["thread"]:
        return f"thread {thread} has no entries: no message was recorded in it"
    return f"there is no thread {thread}; `langledger threads` lists them"
