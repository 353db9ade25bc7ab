"""The benchmark ``calibrate``: which threshold suits a workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langledger.evaluate.journal import Record
from langledger.evaluate.report import markdown, mean

__all__ = ["GRID", "Setpoint", "calibration_table", "knee", "setpoints"]

GRID = (0.60, 0.65, 0.70, 0.72, 0.75, 0.80, 0.85, 0.90, 0.95)
_NEAR = 0.05  # of continuity; less tells no two thresholds apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Setpoint:
    """What one threshold gave over all sessions.

    Attributes:
        threshold: Share of the window.
        continuity: Mean over its compactions.
        compactions: How many there were.
        billed: Tokens as a provider with a prompt cache bills them.
        least: The lowest continuity.
    """

    threshold: float
    continuity: float
    compactions: int
    billed: float
    least: float


def setpoints(records: Sequence[Record], *, window: int) -> list[Setpoint]:
    """Return what each threshold gave at a window, in order."""
    own = [r for r in records if r["run"]["window"] == window and r["run"]["at"] == "window"]
    return [_setpoint(threshold, own) for threshold in sorted({r["run"]["threshold"] for r in own})]


def knee(points: Sequence[Setpoint]) -> Setpoint | None:
    """Return the cheapest threshold whose continuity is all but the best there is.

    Of equal ones the lowest, which leaves the most room. None where nothing was compacted.
    """
    useful = [point for point in points if point.compactions]
    best = max((point.continuity for point in useful), default=0.0)
    near = [point for point in useful if point.continuity >= best - _NEAR]
    return min(near, key=lambda point: (point.billed, point.threshold), default=None)


def calibration_table(points: Sequence[Setpoint]) -> str:
    """Return the thresholds as a table, the knee marked."""
    best = knee(points)
    rows = [
        [
            f"{point.threshold:.2f}{' (knee)' if point is best else ''}",
            f"{point.continuity:.3f}" if point.compactions else "–",
            f"{point.least:.2f}" if point.compactions else "–",
            f"{point.compactions:,}",
            f"{point.billed / 1e6:.3f} M",
        ]
        for point in points
    ]
    return markdown(("threshold", "continuity", "lowest", "compactions", "billed tokens"), rows)


def _setpoint(threshold: float, records: Sequence[Record]) -> Setpoint:
    own = [r for r in records if r["run"]["threshold"] == threshold]
    scores = [r["continuity"] for r in own if r["kind"] == "event"]
    return Setpoint(
        threshold=threshold,
        continuity=mean(scores),
        compactions=len(scores),
        billed=sum(r["billed"] for r in own if r["kind"] == "run"),
        least=min(scores, default=0.0),
    )
