"""Where content stands: the columns that are encrypted, and what their rows are found by.

A number is written into each ciphertext: it is never given to another place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = [
    "BROUGHT",
    "CHECKPOINT_RECORD",
    "COLUMNS",
    "COMPACTION_REPORT",
    "COMPACTION_VIEW",
    "DRAFT_REPORT",
    "DRAFT_VIEW",
    "ENTRY_BODY",
    "ENTRY_METADATA",
    "PIN_SAID_BY",
    "PIN_TEXT",
    "PLACES",
    "PROJECT_WHAT",
    "PROJECT_WHY",
    "SECRET",
    "STATE_EVENT",
    "STATE_FOLD",
    "STATE_WHAT",
    "STATE_WHY",
    "STORE_VALUE",
    "SUMMARY",
    "THREAD_METADATA",
    "UNIT_BODY",
    "UNIT_METADATA",
    "Place",
]


@dataclass(frozen=True, slots=True)
class Place:
    """A column whose content is encrypted.

    Attributes:
        number: Written into each ciphertext.
        table: Its table.
        column: Its name.
        keys: Columns beside the tenant that the row is found by; ``thread_key`` also where it is
            called ``space``, and ``digest`` where it is called ``id``.
        carries: Columns of the row that hold a hash, and are given back as they were.
        merged: A JSON object that statements merge: its values are encrypted one by one.
        clear: Names of its values that statements read, and that stay; where it is encrypted
            whole, those that are given beside it.
        numbers: Whether its numbers stay.
        document: JSON that statements are given as its text.
    """

    number: int
    table: str
    column: str
    keys: tuple[str, ...]
    carries: tuple[str, ...] = ()
    merged: bool = False
    clear: frozenset[str] = field(default_factory=frozenset[str])
    numbers: bool = False
    document: bool = False


_THREAD = "thread_key"
_RECORD = (_THREAD, "scope", "task_id", "kind", "record_id")

SECRET = Place(1, "encryption_key", "sealed", ())
ENTRY_BODY = Place(2, "entry", "body", (_THREAD, "digest"), carries=("digest",))
ENTRY_METADATA = Place(3, "entry", "metadata", (_THREAD, "digest"))
THREAD_METADATA = Place(
    4,
    "thread",
    "metadata",
    (_THREAD,),
    merged=True,
    clear=frozenset({"replay", "import", "cleared_until"}),
)
CHECKPOINT_RECORD = Place(5, "checkpoint", "log", (_THREAD, "checkpoint_ns", "head"))
COMPACTION_VIEW = Place(6, "compaction", "view", (_THREAD, "scope", "generation"))
COMPACTION_REPORT = Place(
    7, "compaction", "report", (_THREAD, "scope", "generation"), merged=True, numbers=True
)
DRAFT_VIEW = Place(8, "compaction_draft", "view", (_THREAD, "scope", "task", "place"))
DRAFT_REPORT = Place(
    9, "compaction_draft", "report", (_THREAD, "scope", "task", "place"), merged=True, numbers=True
)
PIN_TEXT = Place(10, "pin", "text", (_THREAD, "digest"), carries=("digest",))
PIN_SAID_BY = Place(11, "pin", "said_by", (_THREAD, "digest"))
SUMMARY = Place(12, "summary_cache", "summary", ("digest",))
BROUGHT = Place(13, "brought", "body", (_THREAD, "scope", "seq", "seen"))
STATE_EVENT = Place(14, "state_event", "body", (_THREAD, "scope", "event_id"))
STATE_FOLD = Place(15, "state_fold", "body", (_THREAD, "scope", "seen"))
STATE_WHAT = Place(16, "state_record", "what", _RECORD, carries=("record_id",))
STATE_WHY = Place(17, "state_record", "why", _RECORD)
PROJECT_WHAT = Place(18, "project_record", "what", ("project", "record_id"))
PROJECT_WHY = Place(19, "project_record", "why", ("project", "record_id"))
UNIT_BODY = Place(20, "recall_unit", "body", (_THREAD, "ref", "part"))
UNIT_METADATA = Place(21, "recall_unit", "metadata", (_THREAD, "ref", "part"))
STORE_VALUE = Place(
    22,
    "store_item",
    "value",
    ("namespace", "key"),
    carries=("key",),
    clear=frozenset({"sources"}),
    document=True,
)


def _by_number(places: Iterable[Place]) -> dict[int, Place]:
    return {place.number: place for place in places}


PLACES = _by_number(value for value in list(globals().values()) if isinstance(value, Place))
"""Every place, by its number."""
COLUMNS = frozenset({place.column for place in PLACES.values()} - {"sealed", "log"})
"""Columns of a result that may hold ciphertext; what a checkpoint's log holds is opened there."""
