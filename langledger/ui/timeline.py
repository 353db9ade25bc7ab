"""How full the window was, turn by turn: what the chart of a thread shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, cast

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata

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
_LEAST = 0.6  # of our count; a report of less is of another view than the ledger's


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
        seqs: The entry that answers the call; before and after a compaction, fractions between
            two entries.
        fixed: Tokens of system message and tools, where a compaction tells them.
        summary: Tokens of summary and pins in view.
        state: Of the working state in view.
        kept: Of what the last compaction left as it was.
        said: Of what was said since.
        results: Of the tools' results since.
        beyond: What a compaction recalled, and what providers reported beyond all that: what was
            recalled later, and system message and tools until a compaction tells them.
        calls: How many calls there were.
        counted: Some entry of the agent was counted when it was recorded.
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
    beyond: list[int] = field(default_factory=list[int])
    calls: int = 0
    counted: bool = False
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
        self.beyond.append(base.recalled)

    @property
    def sizes(self) -> list[int]:
        """The whole view's size at each point."""
        before = (self.fixed, self.summary, self.state, self.kept)
        since = (self.said, self.results, self.beyond)
        return [sum(parts) for parts in zip(*before, *since, strict=True)]

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
    recalled: int = 0
    total: int = 0
    results: int = 0


@dataclass(slots=True, kw_only=True)
class Usage:
    """What providers reported of the calls shown.

    Attributes:
        seqs: The answers with a report.
        input: Tokens that were sent, of each.
        output: Tokens of the answer.
        cached: Those of the input that came from a cache.
        of_host: They are of views that a host made, as its log tells, and not the ledger.
    """

    seqs: list[int]
    input: list[int]
    output: list[int]
    cached: list[int]
    of_host: bool = False


class _Event(NamedTuple):
    """A compaction and where it stands among the entries."""

    seen: int
    before: float
    after: float
    report: CompactionReport


def timeline(location: Location) -> Operation[tuple[Timeline, Usage]]:
    """Return how full the window was at the calls of an agent, and what providers reported."""
    rows = yield from reading.compactions(location)
    turns = yield from fetch(_queries["turns"], **location.keys, scope=location.scope, most=_POINTS)
    totals = yield from _totals(location, [row["seen"] for row in rows])
    facts = yield from about(location)
    reports = [(row["seen"], row["report"]) for row in rows]
    made = Timeline()
    _limits(made, [report for _, report in reports], facts)
    _fill(made, turns, reports, totals)
    reported = yield from usage(location, made.outputs)
    _believe(made, reported)
    return made, reported


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
    made.counted = any(row["counted"] for row in turns)
    made.step = max([1, *(b["turn"] - a["turn"] for a, b in pairwise(turns))])
    base, waiting = _first_base(reports, totals), _placed(reports)
    for row in turns:
        while waiting and waiting[0].seen < row["seq"]:
            base = _compacted(made, base, waiting.pop(0), totals)
        results = row["results"] - base.results
        made.add(row["seq"], base, row["total"] - base.total - results, results)
        made.outputs[row["seq"]] = row["tokens"]
    for event in waiting:
        base = _compacted(made, base, event, totals)


def _placed(reports: Sequence[tuple[int, CompactionReport]]) -> list[_Event]:
    """Spread the compactions at one entry over the space up to the next."""
    counts, done = Counter(seen for seen, _ in reports), Counter[int]()
    events: list[_Event] = []
    for seen, report in reports:
        step, place = 1 / (2 * counts[seen] + 2), 2 * done[seen]
        done[seen] += 1
        events.append(_Event(seen, seen + (place + 1) * step, seen + (place + 2) * step, report))
    return events


def _believe(made: Timeline, reported: Usage) -> None:
    """Make each call as large as its provider reported, and those that follow by as much.

    Our count of entries does not see what was recalled since a compaction, nor that the next one
    took it out again.
    """
    told = dict(zip(reported.seqs, reported.input, strict=True))
    if reported.of_host:
        _follow(made, told)
        return
    ends = {one["end"] for one in made.compactions}
    more, grown = 0, list[int]()
    for seq, size in zip(made.seqs, made.sizes, strict=True):
        said = told.get(int(seq), 0) if seq == int(seq) else 0
        if seq in ends:
            more = 0
        if said and _LEAST * size <= said <= (made.window or said):
            more = said - size
        grown.append(more)
    for place, seq in enumerate(made.seqs[:-1]):
        if seq in ends:  # what a compaction left is what the next call was sent
            grown[place] = grown[place + 1]
    more_than_counted = [known + extra for known, extra in zip(made.beyond, grown, strict=True)]
    made.beyond = [max(more, 0) for more in more_than_counted]
    made.kept = [
        max(kept + min(more, 0), 0) for kept, more in zip(made.kept, more_than_counted, strict=True)
    ]


def _follow(made: Timeline, told: Mapping[int, int]) -> None:
    """Make each call as large as a host's log tells; its own compactions are seen in nothing else.

    What the host sent beyond the entries is added; of what it left out, nobody knows which it was.
    """
    share = 1.0
    for place, (seq, size) in enumerate(zip(made.seqs, made.sizes, strict=True)):
        share = told[int(seq)] / size if size and int(seq) in told else share
        made.beyond[place] += max(int(size * (share - 1)), 0)
        made.said[place] = int(made.said[place] * min(share, 1))
        made.results[place] = int(made.results[place] * min(share, 1))


def _first_base(
    reports: Sequence[tuple[int, CompactionReport]], totals: Mapping[int, tuple[int, int]]
) -> _Base:
    """Return what no entry is: what the first compaction measured beyond them."""
    if not reports:
        return _Base()
    seen, report = reports[0]
    return _Base(fixed=max(report.tokens_before - totals[seen][0], 0))


def _compacted(
    made: Timeline, base: _Base, event: _Event, totals: Mapping[int, tuple[int, int]]
) -> _Base:
    """Add the points before and after a compaction, and return what holds from there."""
    report = event.report
    total, of_tools = totals[event.seen]
    results = of_tools - base.results
    made.add(event.before, base, total - base.total - results, results)
    made_anew = report.summary_tokens + report.state_tokens + report.recalled_tokens
    rest = report.tokens_after - made_anew
    fixed = min(base.fixed, max(rest, 0))
    after = _Base(
        fixed=fixed,
        summary=report.summary_tokens,
        state=report.state_tokens,
        kept=max(rest - fixed, 0),
        recalled=report.recalled_tokens,
        total=total,
        results=of_tools,
    )
    made.add(event.after, after, 0, 0)
    made.compactions.append(
        {
            "generation": report.generation,
            "at": event.before,
            "end": event.after,
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
        if not isinstance(message, AIMessage):
            continue
        told = message.usage_metadata or _of_host(message)
        if told and told["input_tokens"] > 0:
            found.seqs.append(entry.entry_id)
            found.input.append(told["input_tokens"])
            found.output.append(told["output_tokens"])
            found.cached.append(told.get("input_token_details", {}).get("cache_read", 0))
            found.of_host |= message.usage_metadata is None
    return found


def _of_host(message: AIMessage) -> UsageMetadata | None:
    """Return what a coding agent's log tells of a call, as Claude Code or as pi names it."""
    told = message.response_metadata.get("recorded_usage")
    if not isinstance(told, dict):
        return None
    known = cast("dict[str, Any]", told)

    def tokens(*names: str) -> int:
        counts = (known.get(name) for name in names)
        return next((count for count in counts if isinstance(count, int)), 0)

    read = tokens("cache_read_input_tokens", "cacheRead")
    written = tokens("cache_creation_input_tokens", "cacheWrite")
    sent, answered = (
        tokens("input_tokens", "input") + read + written,
        tokens("output_tokens", "output"),
    )
    return UsageMetadata(
        input_tokens=sent,
        output_tokens=answered,
        total_tokens=sent + answered,
        input_token_details={"cache_read": read},
    )


def cost_of(shown: Timeline, reported: Usage, price: Price | None) -> dict[str, Any]:
    """Return what the calls took: tokens sent and answered, and their price.

    Calls that no provider reported on are counted by our own count; those that are not shown, or
    that nobody counted, are taken to be like the rest. None where nothing is known of any.
    """
    known = dict(zip(reported.seqs, zip(reported.input, reported.output, strict=True), strict=True))
    sizes = dict(zip(shown.seqs, shown.sizes, strict=True))
    pairs = [
        known.get(seq, (sizes[seq], out))
        for seq, out in shown.outputs.items()
        if shown.counted or seq in known
    ]
    scale = shown.calls / len(pairs) if pairs else 1.0
    unknown = bool(shown.calls) and not pairs
    sent = None if unknown else int(sum(pair[0] for pair in pairs) * scale)
    answered = None if unknown else int(sum(pair[1] for pair in pairs) * scale)
    cached = sum(reported.cached) / (sum(reported.input) or 1)
    return {
        "sent": sent,
        "answered": answered,
        "cached": cached if reported.seqs else None,
        "reported": len(known),
        "money": _price_of(sent, answered, price),
        "exact": scale == 1.0 and len(known) == len(pairs),
    }


def _price_of(sent: int | None, answered: int | None, price: Price | None) -> float | None:
    if price is None or sent is None or answered is None:
        return None
    return (sent * price.input + answered * price.output) / 1e6
