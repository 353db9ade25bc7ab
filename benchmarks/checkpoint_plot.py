"""Line charts with logarithmic axes as SVG, for the benchmarks' figures."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT, LEFT, TOP = 520, 380, 60, 40
COLOURS = ("#444", "#d62728", "#ff9896", "#1f77b4", "#9ecae1", "#2ca02c", "#98df8a", "#9467bd")


@dataclass
class Line:
    """A named series of points, all above zero."""

    name: str
    points: list[tuple[float, float]]


def plot(charts: list[tuple[str, list[Line]]]) -> str:
    """Return charts side by side."""
    width = len(charts) * (WIDTH + LEFT + 150)
    body = "".join(
        f'<g transform="translate({place * (WIDTH + LEFT + 150)},0)">{_chart(title, lines)}</g>'
        for place, (title, lines) in enumerate(charts)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT + TOP + 40}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
        f"{body}</svg>\n"
    )


def _chart(title: str, lines: list[Line]) -> str:
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    left, right = log10(min(xs)), log10(max(xs))
    bottom, top = floor(log10(min(ys))), ceil(log10(max(ys)))

    def at(x: float, y: float) -> tuple[float, float]:
        across = (log10(x) - left) / max(right - left, 1e-9)
        up = (log10(y) - bottom) / max(top - bottom, 1e-9)
        return LEFT + across * WIDTH, TOP + (1 - up) * HEIGHT

    parts = [f'<text x="{LEFT}" y="20" font-weight="bold">{escape(title)}</text>']
    for power in range(bottom, top + 1):
        _, y = at(min(xs), 10**power)
        parts.append(
            f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{10**power:g}</text>'
        )
    for x in sorted({10**p for p in range(ceil(left), floor(right) + 1)} | {min(xs), max(xs)}):
        across, base = at(x, 10**bottom)
        parts.append(f'<text x="{across}" y="{base + 18}" text-anchor="middle">{x:g}</text>')
    for place, line in enumerate(lines):
        colour = COLOURS[place % len(COLOURS)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in line.points))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<text x="{LEFT + WIDTH + 8}" y="{TOP + 16 + 18 * place}" fill="{colour}">'
            f"{escape(line.name)}</text>"
        )
    return "".join(parts)
