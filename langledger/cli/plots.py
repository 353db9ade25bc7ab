"""Charts as PNG files; drawing needs the extra ``bench``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langledger.errors import ConfigurationError

if TYPE_CHECKING:
    from langledger.ui.timeline import Timeline

__all__ = ["check_plot", "draw_timeline"]

# As the debug page has them, from below.
_PARTS = (
    ("fixed", "system and tools", "#b8bfc9"),
    ("summary", "summary", "#e0a83e"),
    ("state", "working state", "#d9705e"),
    ("kept", "kept as it was", "#7f9ee8"),
    ("said", "said since", "#a98be0"),
    ("results", "tool results since", "#8cc7a5"),
    ("beyond", "recalled and other", "#d995b8"),
)


def check_plot(plot: Path | None) -> None:
    """Raise at once where nothing could be drawn at the end.

    Raises:
        ConfigurationError: The file's folder is not there.
        MissingDependencyError: matplotlib is not installed.
    """
    if plot is None:
        return
    from langledger.evaluate.plots import check_drawable

    check_drawable()
    if not plot.parent.is_dir():
        raise ConfigurationError(f"--plot: there is no folder {plot.parent}")


def draw_timeline(shown: Timeline, file: Path, *, title: str) -> None:
    """Draw how full the window was at each call, by part, with trigger, window and compactions.

    Raises:
        ConfigurationError: The model was not called yet, or nobody counted the sizes.
    """
    if not shown.seqs:
        raise ConfigurationError("--plot: there is nothing to draw, the model was not called yet")
    if not any(shown.sizes):
        raise ConfigurationError(
            "--plot: there is nothing to draw: the sizes of these messages were not counted when "
            "they were recorded, and no provider reported them"
        )
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(11, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    columns: list[Sequence[int]] = [getattr(shown, name) for name, _, _ in _PARTS]
    labels, colours = [label for _, label, _ in _PARTS], [colour for _, _, colour in _PARTS]
    axis.stackplot(shown.seqs, *columns, labels=labels, colors=colours)
    _lines(axis, shown)
    axis.set_title(title.replace("$", r"\$"), fontsize=10)
    axis.set_xlabel("entry that answers the call")
    axis.set_ylabel("tokens in the window")
    axis.set_xlim(shown.seqs[0], max(shown.seqs[-1], shown.seqs[0] + 1))
    axis.set_ylim(0)
    axis.yaxis.set_major_formatter("{x:,.0f}")
    figure.legend(loc="outside right upper", fontsize=8)
    figure.savefig(file, format="png", dpi=130)


def _lines(axis: Any, shown: Timeline) -> None:
    if shown.window is not None:
        axis.axhline(shown.window, color="#c02b2b", linewidth=1.2, label="window")
    if shown.trigger is not None:
        axis.axhline(
            shown.trigger, color="#9a6200", linewidth=1.2, linestyle="--", label="compacted at"
        )
    for number, one in enumerate(shown.compactions):
        label = "compaction" if number == 0 else None
        axis.axvline(one["at"], color="#5b6472", linewidth=0.8, linestyle=":", label=label)
