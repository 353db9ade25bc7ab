"""Charts of what the benchmarks wrote, as PNG files; needs the extra ``bench``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langledger.errors import MissingDependencyError
from langledger.evaluate.calibrate import Setpoint, knee
from langledger.evaluate.journal import Record
from langledger.evaluate.report import mean, strategies_in, title_of
from langledger.evaluate.scoring import PARTS

__all__ = ["check_drawable", "draw_continuity", "draw_setpoints"]

_GOOD, _COST = "#2f6fb0", "#b0562f"


def check_drawable() -> None:
    """Raise at once where nothing could be drawn at the end.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise MissingDependencyError(
            "charts need matplotlib: pip install 'langledger[bench]', or leave out --plot"
        )


def draw_continuity(records: Sequence[Record], path: Path) -> None:
    """Draw continuity by strategy, and what each kind of thing is kept of, for each window."""
    events = [r for r in records if r["kind"] == "event" and r["run"]["at"] == "window"]
    groups = sorted({(r["run"]["window"], r["run"]["threshold"]) for r in events})
    figure, axes = _figure(max(len(groups), 1))
    for axis, (window, threshold) in zip(axes, groups, strict=False):
        own = [
            r for r in events if (r["run"]["window"], r["run"]["threshold"]) == (window, threshold)
        ]
        names = strategies_in(own)[::-1]
        kept = [
            [_kept([r for r in own if r["run"]["strategy"] == n], p) for p in PARTS] for n in names
        ]
        axis.imshow(kept, cmap="RdYlGn", vmin=0, vmax=1, aspect="auto", origin="lower")
        for row, shares in enumerate(kept):
            for column, share in enumerate(shares):
                axis.text(column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=8)
        scores = [mean(r["continuity"] for r in own if r["run"]["strategy"] == n) for n in names]
        labels = [f"{title_of(n)}  ({s:.2f})" for n, s in zip(names, scores, strict=True)]
        axis.set_yticks(range(len(names)), labels, fontsize=8)
        axis.set_xticks(range(len(PARTS)), PARTS, fontsize=8)
        axis.set_title(
            f"% in view or one search away, window {window:,}, threshold {threshold:.0%}; "
            "in brackets: continuity",
            fontsize=9,
        )
    figure.savefig(path, dpi=130)


def draw_setpoints(points: Sequence[Setpoint], path: Path, *, title: str) -> None:
    """Draw continuity and cost over the threshold, each with an axis of its own, and the knee."""
    figure, (axis,) = _figure(1)
    useful, best = [point for point in points if point.compactions], knee(points)
    axis.plot(
        [p.threshold for p in useful], [p.continuity for p in useful], color=_GOOD, marker="o"
    )
    axis.set_ylabel("continuity", color=_GOOD)
    # Differences that tell nothing are not to look like some.
    axis.set_ylim(min([4.0, *(p.continuity - 0.1 for p in useful)]), 5.05)
    costs = axis.twinx()
    costs.plot(
        [p.threshold for p in points], [p.billed / 1e6 for p in points], color=_COST, marker="s"
    )
    costs.set_ylabel("million billed tokens", color=_COST)
    if best is not None:
        axis.axvline(best.threshold, color="grey", linestyle=":")
        axis.annotate("knee", (best.threshold, 1.01), xycoords=("data", "axes fraction"))
    axis.set_xlabel("threshold, share of the window")
    axis.set_title(title, fontsize=10, pad=18)
    figure.savefig(path, dpi=110)


def _kept(events: Sequence[Record], part: str) -> float:
    due = sum(e["parts"][part]["due"] for e in events)
    return sum(e["parts"][part]["reached"] for e in events) / due if due else 0.0


def _figure(rows: int) -> tuple[Any, list[Any]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    figure: Any = Figure(figsize=(9, 0.6 + 3.9 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, 1, squeeze=False)[:, 0])
