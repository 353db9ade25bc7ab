"""Compactions as rows: load, commit by compare-and-set, report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import zstandard
from langchain_core.messages import SystemMessage
from psycopg.types.json import Jsonb
from psycopg.types.multirange import Multirange
from psycopg.types.range import Range
from pydantic import BaseModel, ConfigDict

from langledger.compaction.account import Account
from langledger.compaction.edits import Edits
from langledger.compaction.pairing import Tracked
from langledger.compaction.recap import Recap
from langledger.compaction.view import Cut
from langledger.database.queries import load_queries
from langledger.encryption import Content, Named
from langledger.encryption.places import COMPACTION_REPORT, COMPACTION_VIEW, SUMMARY
from langledger.entries import Location, message_ids
from langledger.entries.ranges import Ranges
from langledger.operations import Operation, Query, Row, fetch

__all__ = [
    "CompactionReport",
    "applicable",
    "belongs",
    "cache_summary",
    "cached_summary",
    "commit",
    "cut_of",
    "cuts",
    "latest_before",
    "latest_query",
    "multirange",
    "note_recalled",
    "note_recap",
    "pack",
    "reports",
]

_queries = load_queries("langledger.compaction")


class CompactionReport(BaseModel):
    """One compaction, in numbers.

    Attributes:
        thread_id: The thread.
        scope: Checkpoint namespace and agent; empty for the root agent.
        generation: Number of the compaction in its thread and scope, from 1.
        reason: What set it off, such as ``fraction 0.72``, ``asked`` or ``overflow``; ``pinned``
            where nothing was compacted and only the pins in view changed.
        window: The model's window in tokens.
        reserved: Tokens kept free for output.
        tokens_before: Size of the call without this compaction.
        tokens_after: Size of the call with it, what recall then brought included.
        seconds: Wall time, model calls included.
        model_calls: Calls of the summary model.
        covered: Entries that the summary stands for, earlier compactions included.
        newly_covered: Those this compaction added.
        kept: Messages of the history that stay in view.
        masked: Tool results shown as a reference.
        clipped: Messages shown in part.
        summary_tokens: Size of the summary.
        state_tokens: Size of the rendered working state.
        recalled_tokens: Size of what recall brought into the view right after it.
        pinned: Pins that the view shows beside the history.
        pins_dropped: Pins there was no room for.
        world: Where the working state and the world disagree, where that was asked.
        summariser: ``model``, ``extractive``, or ``none`` where nothing left the view.
        rejected: Why answers of the summary model were not used.
        reviewed: What a person did with it: ``accepted``, ``edited``, or nothing.
        recap: Whether the agent's restating was ``asked`` for, and what became of it: ``held``,
            ``absent``, ``incomplete`` or ``contradicted``.
        recap_problems: What of it the record contradicts.
    """

    model_config = ConfigDict(frozen=True)

    thread_id: str
    scope: str
    generation: int
    reason: str
    window: int
    reserved: int
    tokens_before: int
    tokens_after: int
    seconds: float
    model_calls: int
    covered: int
    newly_covered: int
    kept: int
    masked: int
    clipped: int
    summary_tokens: int
    state_tokens: int
    recalled_tokens: int = 0
    pinned: int = 0
    pins_dropped: int = 0
    summariser: str
    rejected: list[str] = []
    world: list[str] = []
    reviewed: str = ""
    recap: str = ""
    recap_problems: list[str] = []


def latest_query(location: Location, *, known: int, limit: int = 1, offset: int = 0) -> Query:
    """Return the statement that reads compactions newer than ``known``, newest first."""
    params = {
        **location.keys,
        "scope": location.scope,
        "known": known,
        "limit": limit,
        "offset": offset,
    }
    return Query(_queries["latest"], params)


def applicable(location: Location, history: Sequence[Tracked]) -> Operation[Cut | None]:
    """Return the newest compaction that belongs to this history."""
    offset = 0
    while True:
        query = latest_query(location, known=0, limit=10, offset=offset)
        rows = yield from fetch(query.sql, **query.params)
        for row in rows:
            cut = cut_of(row)
            if (yield from belongs(location, cut, history)):
                return cut
        if len(rows) < 10:
            return None
        offset += 10


def belongs(location: Location, cut: Cut, history: Sequence[Tracked]) -> Operation[bool]:
    """Tell whether a compaction belongs to a history.

    One that stands for a message which was replaced since does not.
    """
    present = {t.seq: t.message.id for t in history if not isinstance(t.message, SystemMessage)}
    if not cut.applies_to(present, oldest=min(present, default=0)):
        return False
    missing = [seq for seq in cut.history if seq not in present]
    gone = (yield from message_ids(location, missing)) if missing else set[str]()
    return not gone & set(present.values())


def commit(location: Location, cut: Cut, report: CompactionReport) -> Operation[bool]:
    """Commit a compaction; False where another one of the same generation was first."""
    rows = yield from fetch(
        _queries["commit"],
        **location.keys,
        scope=location.scope,
        generation=cut.generation,
        covered=multirange(cut.covered),
        masked=multirange(cut.masked),
        boundary=cut.boundary,
        seen=cut.seen,
        view=Content(COMPACTION_VIEW, pack(cut)),
        report=Content(
            COMPACTION_REPORT, Jsonb(report.model_dump(mode="json", exclude={"thread_id"}))
        ),
    )
    return bool(rows)


def reports(location: Location) -> Operation[list[CompactionReport]]:
    """Return the reports of a thread's compactions, all scopes, oldest first."""
    rows = yield from fetch(_queries["reports"], **location.keys)
    return [CompactionReport(thread_id=location.thread_id, **row["report"]) for row in rows]


def latest_before(location: Location, *, at: int | None) -> Operation[Cut | None]:
    """Return the newest compaction that was made when entry ``at`` was the newest, or earlier."""
    rows = yield from fetch(_queries["latest_before"], **location.keys, scope=location.scope, at=at)
    return cut_of(rows[0]) if rows else None


def cuts(location: Location) -> Operation[list[tuple[str, Cut]]]:
    """Return what each compaction of a thread decided, with its scope, oldest first."""
    rows = yield from fetch(_queries["views"], **location.keys)
    return [(row["scope"], cut_of(row)) for row in rows]


def note_recap(location: Location, recap: Recap) -> Operation[None]:
    """Keep with a compaction what became of the restating it asked for."""
    found = {"recap": recap.outcome, "recap_problems": list(recap.problems)}
    yield from _amend(location, recap.generation, found)


def note_recalled(location: Location, report: CompactionReport) -> Operation[None]:
    """Keep with a compaction what recall brought right after it."""
    found = {"tokens_after": report.tokens_after, "recalled_tokens": report.recalled_tokens}
    yield from _amend(location, report.generation, found)


def _amend(location: Location, generation: int, found: dict[str, Any]) -> Operation[None]:
    yield from fetch(
        _queries["amend"],
        **location.keys,
        scope=location.scope,
        generation=generation,
        found=Content(COMPACTION_REPORT, Jsonb(found)),
    )


def cached_summary(tenant: str, digest: bytes) -> Operation[str | None]:
    """Return the summary made before of this content, or None."""
    rows = yield from fetch(_queries["cached_summary"], tenant=tenant, digest=Named(digest))
    return rows[0]["summary"] if rows else None


def cache_summary(tenant: str, digest: bytes, summary: str) -> Operation[None]:
    """Keep a paid summary, so that a retry does not pay again."""
    yield from fetch(
        _queries["cache_summary"],
        tenant=tenant,
        digest=Named(digest),
        summary=Content(SUMMARY, summary),
    )


def cut_of(row: Row) -> Cut:
    """Return the compaction a row holds."""
    view: dict[str, Any] = json.loads(zstandard.ZstdDecompressor().decompress(row["view"]))
    return Cut(
        generation=row["generation"],
        covered=_ranges(row["covered"]),
        masked=_ranges(row["masked"]),
        boundary=row["boundary"],
        clipped={int(seq): size for seq, size in view["clipped"].items()},
        summary=view["summary"],
        head=view["head"],
        state=view["state"],
        seen=view["seen"],
        size=view["size"],
        length=view["length"],
        usable=view["usable"],
        pinned_tokens=view["pinned_tokens"],
        edits=Edits.load(view.get("edits")),
        account=Account.load(view.get("account")),
        history=Ranges(tuple((start, stop) for start, stop in view["history"])),
    )


def multirange(ranges: Ranges) -> Multirange[int]:
    """Return entry ids as PostgreSQL takes them."""
    return Multirange(Range(start, stop) for start, stop in ranges.spans)


def _ranges(multirange: Multirange[int]) -> Ranges:
    return Ranges(tuple((span.lower or 0, span.upper or 0) for span in multirange))


def pack(cut: Cut) -> bytes:
    """Return what a compaction's row holds beside its columns."""
    # Bytes, not jsonb: text of tools may hold NUL and lone surrogates, which jsonb refuses.
    document = {
        "clipped": cut.clipped,
        "summary": cut.summary,
        "head": cut.head,
        "state": cut.state,
        "seen": cut.seen,
        "size": cut.size,
        "length": cut.length,
        "usable": cut.usable,
        "pinned_tokens": cut.pinned_tokens,
        "history": cut.history.spans,
        **({"edits": cut.edits.dump()} if cut.edits else {}),
        **({"account": cut.account.dump()} if cut.account.text else {}),
    }
    return zstandard.ZstdCompressor(level=9).compress(json.dumps(document).encode())
