"""Charts of plain characters, readable in a terminal and in a log."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["ASCII", "BLOCKS", "Charset", "usage_chart"]

_ROWS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Charset:
    """The characters a chart is drawn with.

    Attributes:
        levels: From nothing to a full cell.
        saved: A cell that a compaction freed.
        line: A cell of the trigger's line.
        mark: Marks a compaction under the chart.
    """

    levels: str
    saved: str
    line: str
    mark: str


BLOCKS = Charset(levels=" ▁▂▃▄▅▆▇█", saved="░", line="┄", mark="▲")
ASCII = Charset(levels=" .:#", saved="'", line="-", mark="^")


def usage_chart(
    sizes: Sequence[float],
    *,
    before: Mapping[int, float],
    trigger: float,
    marks: Collection[int],
    charset: Charset = BLOCKS,
) -> str:
    """Draw the use of a window over model calls, one column a call.

    Args:
        sizes: The share of the window that each call took.
        before: Share that a call would have taken without compaction, by its number from 1.
        trigger: The share at which compaction is due; drawn as a line.
        marks: Numbers, from 1, of the calls to mark.
        charset: What to draw with.
    """
    lines = [
        _row(row, sizes, before=before, trigger=trigger, charset=charset)
        for row in range(_ROWS - 1, -1, -1)
    ]
    numbers = range(1, len(sizes) + 1)
    below = "".join(charset.mark if number in marks else " " for number in numbers)
    lines += [f"   0 % +{'-' * len(sizes)}", f"        {below}", f"        {_scale(len(sizes))}"]
    return "\n".join(line.rstrip() for line in lines)


def _row(
    row: int,
    sizes: Sequence[float],
    *,
    before: Mapping[int, float],
    trigger: float,
    charset: Charset,
) -> str:
    low, high = row / _ROWS, (row + 1) / _ROWS
    holds_trigger = low < trigger <= high
    label = f"{trigger:>4.0%}" if holds_trigger else f"{high:>4.0%}" if row % 2 else ""
    cells = [
        _cell(size, low, before.get(number, 0.0), charset)
        for number, size in enumerate(sizes, start=1)
    ]
    empty = charset.line if holds_trigger else " "
    text = "".join(cell if cell != " " else empty for cell in cells)
    return f"{label.replace('%', ' %'):>6} |{text}"


def _cell(size: float, low: float, before: float, charset: Charset) -> str:
    steps = len(charset.levels) - 1
    level = min(max(round((size - low) * _ROWS * steps), 0), steps)
    if level == 0 and before > low:
        return charset.saved
    return charset.levels[level]


def _scale(length: int) -> str:
    """Return the call numbers under the columns: 1, 10, 20 and so on."""
    text = list(" " * (length + 3))
    for number in (1, *range(10, length + 1, 10)):
        text[number - 1 : number - 1 + len(str(number))] = str(number)
    return "".join(text).rstrip()
