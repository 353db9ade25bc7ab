"""The chart shows each call, what was freed, and the trigger."""

from __future__ import annotations

from langledger.demo.chart import ASCII, BLOCKS, usage_chart


def columns(chart: str) -> list[str]:
    """Return the chart's columns, bottom row first."""
    rows = [line.partition("|")[2] for line in chart.splitlines() if "|" in line]
    width = max(map(len, rows))
    return ["".join(row.ljust(width)[i] for row in reversed(rows)) for i in range(width)]


def test_a_column_is_as_high_as_its_share() -> None:
    chart = usage_chart([0.0, 0.05, 0.5, 1.0], before={}, trigger=0.72, marks=())
    heights = [column.count("█") for column in columns(chart)]
    assert heights == [0, 0, 5, 10]
    assert columns(chart)[1][0] == "▄"


def test_what_a_compaction_freed_stands_above_its_call() -> None:
    chart = usage_chart([0.7, 0.2], before={2: 0.8}, trigger=0.72, marks=[2])
    assert columns(chart)[1] == "██" + "░" * 6 + "  "
    below = next(line for line in chart.splitlines() if "▲" in line)
    bar = next(line for line in chart.splitlines() if "|" in line)
    assert below.index("▲") == bar.index("|") + 2


def test_the_trigger_is_a_line_behind_the_columns() -> None:
    chart = usage_chart([0.9, 0.1, 0.1], before={}, trigger=0.72, marks=())
    row = next(line for line in chart.splitlines() if line.startswith("  72 %"))
    assert row.endswith("|█┄┄")


def test_a_share_over_the_window_stays_within_the_chart() -> None:
    chart = usage_chart([1.4], before={}, trigger=0.72, marks=())
    assert columns(chart) == ["█" * 10]


def test_calls_are_numbered() -> None:
    chart = usage_chart([0.1] * 24, before={}, trigger=0.72, marks=())
    bar = next(line for line in chart.splitlines() if "|" in line)
    start = bar.index("|") + 1
    scale = chart.splitlines()[-1]
    assert scale[start] == "1"
    assert scale[start + 9 : start + 11] == "10"
    assert scale[start + 19 : start + 21] == "20"


def test_plain_characters_for_terminals_that_know_no_others() -> None:
    chart = usage_chart([0.3, 0.2], before={2: 0.8}, trigger=0.72, marks=[2], charset=ASCII)
    assert chart.isascii()
    assert not usage_chart([0.3], before={}, trigger=0.72, marks=(), charset=BLOCKS).isascii()
