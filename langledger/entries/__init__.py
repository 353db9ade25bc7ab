"""The history: every message as it was, each stored once."""

from __future__ import annotations

from langledger.entries.absence import why_empty
from langledger.entries.log import (
    Entry,
    Location,
    Recorded,
    about,
    append,
    entry_of,
    load,
    message_ids,
)
from langledger.entries.reading import count, history, history_page, threads

__all__ = [
    "Entry",
    "Location",
    "Recorded",
    "about",
    "append",
    "count",
    "entry_of",
    "history",
    "history_page",
    "load",
    "message_ids",
    "threads",
    "why_empty",
]
