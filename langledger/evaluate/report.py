"""Tables of what the benchmarks wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from platform import machine, python_version, system
from typing import NamedTuple

from langledger.evaluate.journal import Record
from langledger.evaluate.peers import installed
from langledger.evaluate.scoring import PARTS
from langledger.evaluate.strategies import RECORDED, STRATEGIES

__all__ = ["Table", "continuity_tables", "markdown", "strategies_in", "surroundings", "title_of"]

_COLUMNS = (
    "", "continuity", "events", "edited files marked", "next values", "with recall", "last action",
    "requests", "with recall", "steps", "read", "with recall", "commands", "with recall", "rework",
    "stale", "invented", "view",
)  # fmt: skip
_COSTS = (
    "", "sessions", "ended by an error", "calls", "compactions", "prompt tokens", "cached",
    "billed", "over the window", "summary calls", "s compacting", "s in all",
)  # fmt: skip
_PACKAGES = ("langledger", "langchain", "langchain-core", "langgraph", "deepagents", "langmem")


class Table(NamedTuple):
    """A table; each row begins with what it is of."""

    title: str
    columns: Sequence[str]
    rows: list[list[str]]


def surroundings() -> dict[str, str]:
    """Return machine and versions, to be written beside figures."""
    names = {name: installed(name.replace("-", "_")) for name in _PACKAGES[1:]}
    return {
        "machine": f"{system()} {machine()}",
        "python": python_version(),
        "langledger": version("langledger"),
        **{name: found for name, found in names.items() if found},
    }


def continuity_tables(records: Sequence[Record]) -> list[Table]:
    """Return tables of scores, costs and tasks for each window, threshold and kind of point.

    Where there are several of these, a table of continuity by all of them is the last.
    """
    groups = sorted({_group(r) for r in records}, key=lambda g: (g[0] == "recorded", *g[1:]))
    tables: list[Table] = []
    for group in groups:
        own = [r for r in records if _group(r) == group]
        place = _place(*group)
        tables.append(Table(f"What a view still tells, {place}", _COLUMNS, _scores(own)))
        if group[0] != "recorded":
            tables.append(Table(f"What it costs, {place}", _COSTS, _costs(own)))
        kinds = sorted({r["task_type"] for r in own if r["kind"] == "event"})
        tables.append(Table(f"Continuity by task, {place}", ("", *kinds), _by_task(own, kinds)))
    if len(groups) > 1:
        columns = ("", *(_short(*group) for group in groups))
        rows = _by_group(records, groups)
        tables.append(Table("Continuity by window and threshold", columns, rows))
    return tables


def _group(record: Record) -> tuple[str, int, float]:
    run = record["run"]
    return run["at"], run["window"], run["threshold"]


def _place(at: str, window: int, threshold: float) -> str:
    if at == "recorded":
        return "at the agents' own compactions"
    return f"window {window:,} tokens, threshold {threshold:.0%}"


def _short(at: str, window: int, threshold: float) -> str:
    return "the agents' own" if at == "recorded" else f"{window:,} at {threshold:.0%}"


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    head = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


def title_of(strategy: str) -> str:
    """Return a strategy's name for a table."""
    known = STRATEGIES.get(strategy)
    return known.title if known else "the session's own summary"


def strategies_in(records: Iterable[Record]) -> list[str]:
    """Return the strategies that records are of, in the tables' order."""
    present = {r["run"]["strategy"] for r in records}
    return [name for name in (*STRATEGIES, RECORDED) if name in present]


def _scores(records: Sequence[Record]) -> list[list[str]]:
    rows: list[list[str]] = []
    for strategy in strategies_in(records):
        events = _of(records, strategy, "event")
        if not events:
            rows.append([title_of(strategy), "–", "0", *["–"] * (len(_COLUMNS) - 3)])
            continue
        searched = strategy.startswith("langledger") and strategy != "langledger-state"
        rows.append([title_of(strategy), *_score_cells(events, searched)])
    return rows


def _score_cells(events: Sequence[Record], searched: bool) -> list[str]:  # noqa: FBT001 - internal
    def share(part: str, key: str) -> str:
        due = sum(e["parts"][part]["due"] for e in events)
        return f"{100 * sum(e['parts'][part][key] for e in events) / due:.1f} %" if due else "–"

    def reached(part: str) -> str:
        return share(part, "reached") if searched else "–"

    named = {part: share(part, "named") for part in PARTS}
    size = sum(e["tokens_after"] for e in events) // len(events)
    return [
        f"{mean(e['continuity'] for e in events):.2f}", f"{len(events):,}",
        named["edited"], named["next"], reached("next"), named["last"], named["requests"],
        reached("requests"), named["steps"], named["read"], reached("read"), named["commands"],
        reached("commands"), str(sum(e["rework"] for e in events)),
        str(sum(len(e["stale"]) for e in events)), str(sum(len(e["invented"]) for e in events)),
        f"{size:,}",
    ]  # fmt: skip


def _costs(records: Sequence[Record]) -> list[list[str]]:
    rows: list[list[str]] = []
    for strategy in strategies_in(records):
        runs = _of(records, strategy, "run")

        def total(key: str, runs: Sequence[Record] = runs) -> float:
            return sum(r.get(key, 0) for r in runs)

        tokens = total("prompt_tokens")
        rows.append([
            title_of(strategy), str(len(runs)), str(sum(bool(r["error"]) for r in runs)),
            f"{total('calls'):,}", f"{total('events'):,}", f"{tokens / 1e6:.1f} M",
            f"{100 * total('cached_tokens') / max(tokens, 1):.1f} %",
            f"{total('billed') / 1e6:.2f} M", f"{total('over_window'):,}",
            f"{total('model_calls'):,}", f"{total('seconds_compacting'):.1f}",
            f"{total('seconds'):.0f}",
        ])  # fmt: skip
    return rows


def _by_task(records: Sequence[Record], kinds: Sequence[str]) -> list[list[str]]:
    return [
        [
            title_of(strategy),
            *(_mean_of(e for e in events if e["task_type"] == kind) for kind in kinds),
        ]
        for strategy in strategies_in(records)
        for events in [_of(records, strategy, "event")]
    ]


def _by_group(
    records: Sequence[Record], groups: Sequence[tuple[str, int, float]]
) -> list[list[str]]:
    return [
        [title_of(strategy), *(_mean_of(e for e in events if _group(e) == g) for g in groups)]
        for strategy in strategies_in(records)
        for events in [_of(records, strategy, "event")]
    ]


def _mean_of(events: Iterable[Record]) -> str:
    """Return the mean continuity of some compactions, and how many they are."""
    scores = [event["continuity"] for event in events]
    return f"{mean(scores):.2f} ({len(scores)})" if scores else "–"


def mean(values: Iterable[float]) -> float:
    """Return the mean of some values; 0 of none."""
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def _of(records: Sequence[Record], strategy: str, kind: str) -> list[Record]:
    return [r for r in records if r["run"]["strategy"] == strategy and r["kind"] == kind]
