"""Reading and editing the summary of a compaction after it was applied.

An edit is a compaction of its own that stands for the same entries: agents take it up with
their next call, in whatever process, and what was there before it stays in the database.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langledger.arguments import check_text, check_whole
from langledger.compaction.records import CompactionReport, commit, cut_of, latest_query, reports
from langledger.compaction.review import revised
from langledger.compaction.view import Cut
from langledger.entries import Location
from langledger.errors import CompactionError, ConfigurationError
from langledger.operations import Operation, fetch
from langledger.tokens import count_text

__all__ = ["edit_summary", "summary_of"]

_ATTEMPTS = 5
# Share of (window - reserved output) that an edited summary may take.
_MOST = 0.25


def summary_of(location: Location, generation: int | None = None) -> Operation[str]:
    """Return the summary of a compaction, the newest by default; empty where it wrote none.

    Raises:
        ConfigurationError: There is no such compaction.
    """
    return _chosen((yield from _cuts(location)), generation).summary


def edit_summary(location: Location, generation: int, text: str) -> Operation[CompactionReport]:
    """Replace the summary of a compaction; summaries that follow begin with this text.

    Args:
        location: The thread, and the agent within it.
        generation: Number of the compaction, as its report tells.
        text: What the summary is to say.

    Returns:
        The report of the edit, which is a compaction of its own.

    Raises:
        ConfigurationError: There is no such compaction, another one was built on it, or the text
            is empty or too long.
        CompactionError: The thread was compacted anew again and again meanwhile.
    """
    check_text("text", text)
    if not text.strip():
        raise ConfigurationError("text is empty; a summary must say something")
    for _ in range(_ATTEMPTS):
        cuts = yield from _cuts(location)
        old = _editable(cuts, generation)
        before = yield from _report(location, old)
        made = replace(revised(old, summary=text), generation=cuts[0].generation + 1)
        grown = count_text(made.summary) - count_text(old.summary)
        made = replace(made, size=old.size + grown)
        report = _edited(before, made, grown)
        if (yield from commit(location, made, report)):
            return report
    raise CompactionError("the thread is being compacted again and again; edit it once it rests")


def _cuts(location: Location) -> Operation[list[Cut]]:
    query = latest_query(location, known=0, limit=100_000)
    return [cut_of(row) for row in (yield from fetch(query.sql, **query.params))]


def _chosen(cuts: list[Cut], generation: int | None) -> Cut:
    if not cuts:
        raise ConfigurationError("the thread has no compactions")
    if generation is None:
        return cuts[0]
    check_whole("generation", generation, least=1)
    found = next((cut for cut in cuts if cut.generation == generation), None)
    if found is None:
        raise ConfigurationError(
            f"there is no compaction {generation}; the newest is {cuts[0].generation}"
        )
    return found


def _editable(cuts: list[Cut], generation: int) -> Cut:
    chosen = _chosen(cuts, generation)
    for cut in reversed(cuts):
        if cut.generation > generation and set(chosen.history) <= set(cut.history):
            raise ConfigurationError(
                f"compaction {generation} was followed by {cut.generation}; edit the newest one "
                f"of this history"
            )
    if not chosen.covered.spans:
        raise ConfigurationError(f"compaction {generation} summarised nothing; there is no text")
    return chosen


def _report(location: Location, cut: Cut) -> Operation[CompactionReport]:
    found = yield from reports(location)
    return next(r for r in found if (r.scope, r.generation) == (location.scope, cut.generation))


def _edited(before: CompactionReport, cut: Cut, grown: int) -> CompactionReport:
    size = count_text(cut.summary)
    most = int((before.window - before.reserved) * _MOST)
    if size > most:
        raise ConfigurationError(
            f"text takes {size} tokens, at most {most} fit this thread's window: shorten it"
        )
    changes: dict[str, Any] = {
        "generation": cut.generation,
        "reason": "edited",
        "reviewed": "edited",
        "tokens_before": before.tokens_after,
        "tokens_after": max(before.tokens_after + grown, size),
        "seconds": 0.0,
        "model_calls": 0,
        "newly_covered": 0,
        "summary_tokens": size,
        "summariser": "none",
        "rejected": [],
    }
    return before.model_copy(update=changes)
