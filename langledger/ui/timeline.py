"""How full the window was, turn by turn: what the chart of a thread shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage

from langledger.compaction.records import CompactionReport
from langledger.database.queries import load_queries
from langledger.entries import Location, about, load
from langledger.operations import Operation, Row, fetch
from langledger.ui import reading

__all__ = ["Price", "Timeline", "Usage", "cost_of", "timeline", "usage"]

_queries = load_queries("langledger.ui")
_POINTS = 600
_FRACTION = re.compile(r"fraction (0\.\d+)")
_TRIGGER = 0.72  # where no compaction tells another one


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in any currency.

    Attributes:
        input: Of what a model is sent.
        output: Of what it answers.
    """

    input: float
    output: float


@dataclass(slots=True)
class Timeline:
    """The calls of an agent, at most some hundreds of them, as columns.

    Attributes:
        seqs: The entry that answers the call; that of a compaction's end has a half added.
        fixed: Tokens of system message and tools, where a compaction tells them.
        summary: Tokens of summary and pins in view.
        state: Of the working state in view.
        kept: Of what the last compaction left as it was.
        said: Of what was said since.
        results: Of the tools' results since.
        calls: How many calls there were.
        step: Every so manieth call is shown.
        window: The model's window, or None.
        trigger: Tokens at which a compaction is due, or None.
        compactions: Of each: generation, the entry it stands at, tokens before and after.
        outputs: Tokens of the answers shown, by entry.
    """

    seqs: list[float] = field(default_factory=list[float])
    fixed: list[int] = field(default_factory=list[int])
    summary: list[int] = field(default_factory=list[int])
    state: list[int] = field(default_factory=list[int])
    kept: list[int] = field(default_factory=list[int])
    said: list[int] = field(default_factory=list[int])
    results: list[int] = field(default_factory=list[int])
    calls: int = 0
    step: int = 1
    window: int | None = None
    trigger: int | None = None
    compactions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    outputs: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, seq: float, base: _Base, said: int, results: int) -> None:
        """Add a call's view: what stands since the compaction, and what came after."""
        self.seqs.append(seq)
        self.fixed.append(base.fixed)
        self.summary.append(base.summary)
        self.state.append(base.state)
        self.kept.append(base.kept)
        self.said.append(max(said, 0))
        self.results.append(max(results, 0))

    @property
    def sizes(self) -> list[int]:
        """The whole view's size at each point."""
        columns = (self.fixed, self.summary, self.state, self.kept, self.said, self.results)
        return [sum(parts) for parts in zip(*columns, strict=True)]

    def as_json(self) -> dict[str, Any]:
        """Return the columns for the chart."""
        told = asdict(self)
        del told["outputs"]
        return told


@dataclass(frozen=True, slots=True)
class _Base:
    """What a view holds right after a compaction, and the totals of the entries there were."""

    fixed: int = 0
    summary: int = 0
    state: int = 0
    kept: int = 0
    total: int = 0
    results: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What providers reported of the calls shown.

    Attributes:
        seqs: The answers with a report.
        input: Tokens that were sent, of each.
        output: Tokens of the answer.
        cached: Those of the input that came from a cache.
    """

    seqs: list[int]
    input: list[int]
    output: list[int]
    cached: list[int]


def timeline(location: Location) -> Operation[Timeline]:
    """Return how full the window was at the calls of an agent."""
    rows = yield from reading.compactions(location)
    turns = yield from fetch(_queries["turns"], **location.keys, scope=location.scope, most=_POINTS)
    totals = yield from _totals(location, [row["seen"] for row in rows])
    facts = yield from about(location)
    reports = [(row["seen"], row["report"]) for row in rows]
    made = Timeline()
    _limits(made, [report for _, report in reports], facts)
    _fill(made, turns, reports, totals)
    return made


def _totals(location: Location, seqs: Sequence[int]) -> Operation[dict[int, tuple[int, int]]]:
    """Return the tokens of all entries up to each of these, and those of results among them."""
    places = sorted({seq + 1 for seq in seqs})
    if not places:
        return {}
    rows = yield from fetch(
        _queries["totals_between"], **location.keys, scope=location.scope, places=places
    )
    found = {row["place"]: (row["total"], row["results"]) for row in rows}
    totals: dict[int, tuple[int, int]] = {}
    total = results = 0
    for place, seq in enumerate(places):
        more, of_tools = found.get(place, (0, 0))
        total, results = total + more, results + of_tools
        totals[seq - 1] = (total, results)
    return totals


def _limits(made: Timeline, reports: Sequence[CompactionReport], facts: Mapping[str, Any]) -> None:
    if reports:
        last = reports[-1]
        told = [found for r in reports if (found := _FRACTION.search(r.reason))]
        share = float(told[-1][1]) if told else _TRIGGER
        made.window, made.trigger = last.window, int((last.window - last.reserved) * share)
        return
    window = facts.get("replay", {}).get("window")
    if isinstance(window, int):
        made.window, made.trigger = window, int(window * _TRIGGER)


def _fill(
    made: Timeline,
    turns: Sequence[Row],
    reports: Sequence[tuple[int, CompactionReport]],
    totals: Mapping[int, tuple[int, int]],
) -> None:
    made.calls = turns[-1]["calls"] if turns else 0
    made.step = max([1, *(b["turn"] - a["turn"] for a, b in pairwise(turns))])
    base, waiting = _first_base(reports, totals), list(reports)
    for row in turns:
        while waiting and waiting[0][0] < row["seq"]:
            base = _compacted(made, base, *waiting.pop(0), totals)
        results = row["results"] - base.results
        made.add(row["seq"], base, row["total"] - base.total - results, results)
        made.outputs[row["seq"]] = row["tokens"]
    for seen, report in waiting:
        base = _compacted(made, base, seen, report, totals)


def _first_base(
    reports: Sequence[tuple[int, CompactionReport]], totals: Mapping[int, tuple[int, int]]
) -> _Base:
    """Return what no entry is: what the first compaction measured beyond them."""
    if not reports:
        return _Base()
    seen, report = reports[0]
    return _Base(fixed=max(report.tokens_before - totals[seen][0], 0))


def _compacted(
    made: Timeline,
    base: _Base,
    seen: int,
    report: CompactionReport,
    totals: Mapping[int, tuple[int, int]],
) -> _Base:
    """Add the points before and after a compaction, and return what holds from there."""
    total, of_tools = totals[seen]
    results = of_tools - base.results
    made.add(seen + 0.25, base, total - base.total - results, results)
    rest = report.tokens_after - report.summary_tokens - report.state_tokens
    fixed = min(base.fixed, max(rest, 0))
    after = _Base(
        fixed=fixed,
        summary=report.summary_tokens,
        state=report.state_tokens,
        kept=max(rest - fixed, 0),
        total=total,
        results=of_tools,
    )
    made.add(seen + 0.5, after, 0, 0)
    made.compactions.append(
        {
            "generation": report.generation,
            "at": seen + 0.25,
            "before": report.tokens_before,
            "after": report.tokens_after,
        }
    )
    return after


def usage(location: Location, seqs: Iterable[int]) -> Operation[Usage]:
    """Return what providers reported with these answers."""
    found = Usage(seqs=[], input=[], output=[], cached=[])
    for entry in (yield from load(location, seqs)):
        message = entry.message
        told = message.usage_metadata if isinstance(message, AIMessage) else None
        if told and told["input_tokens"] > 0:
            found.seqs.append(entry.entry_id)
            found.input.append(told["input_tokens"])
            found.output.append(told["output_tokens"])
            found.cached.append(told.get("input_token_details", {}).get("cache_read", 0))
    return found


def cost_of(shown: Timeline, reported: Usage, price: Price | None) -> dict[str, Any]:
    """Return what the calls took: tokens sent and answered, and their price.

    Calls that no provider reported on are counted by our own count; of a thread with more calls
    than are shown, the rest is taken to be like them.
    """
    known = dict(zip(reported.seqs, zip(reported.input, reported.output, strict=True), strict=True))
    sizes = dict(zip(shown.seqs, shown.sizes, strict=True))
    pairs = [known.get(seq, (sizes[seq], out)) for seq, out in shown.outputs.items()]
    scale = shown.calls / len(pairs) if pairs else 1.0
    sent = int(sum(pair[0] for pair in pairs) * scale)
    answered = int(sum(pair[1] for pair in pairs) * scale)
    cached = sum(reported.cached) / (sum(reported.input) or 1)
    money = (sent * price.input + answered * price.output) / 1e6 if price else None
    return {
        "sent": sent,
        "answered": answered,
        "cached": cached if reported.seqs else None,
        "reported": len(known),
        "money": money,
        "exact": scale == 1.0 and len(known) == len(pairs),
    }
