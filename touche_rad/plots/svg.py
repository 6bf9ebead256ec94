"""Dot plots and histograms as SVG, and the shapes of all plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

LEFT, WIDTH, RIGHT, ROW, TOP, BOTTOM = 150, 480, 60, 22, 12, 34
SHAPES = 4
BIN = 5
LIMIT = 60


@dataclass(frozen=True)
class Dot:
    """A value between 0 and 1 with its interval, label and series."""

    label: str
    value: float
    low: float | None
    high: float | None
    series: int


def across(value: float, top: float = 1.0) -> float:
    """Return the horizontal position of a value."""
    return round(LEFT + WIDTH * min(max(value / top, 0.0), 1.0), 1)


def dots(title: str, groups: Sequence[tuple[str, Sequence[Dot]]]) -> Markup:
    """Plot values with intervals, one per row, by group."""
    parts: list[Markup] = []
    y = TOP
    for head, rows in groups:
        parts.append(text(0, y + 14, shorten(head), "head"))
        for row in rows:
            y += ROW
            parts.append(_dot(row, y + 10))
        y += ROW + 8
    parts.insert(0, _axis(y, [0, 0.25, 0.5, 0.75, 1], 1.0))
    return figure(title, LEFT + WIDTH + RIGHT, y + BOTTOM, parts)


def _dot(row: Dot, y: float) -> Markup:
    series = row.series % SHAPES
    parts = [text(LEFT - 10, y + 4, shorten(row.label), "name")]
    if row.low is not None and row.high is not None:
        parts.append(line(across(row.low), y, across(row.high), y, f"bar s{series}"))
    parts.append(_mark(series, across(row.value), y))
    parts.append(text(LEFT + WIDTH + 12, y + 4, f"{row.value:.3f}", "value"))
    return Markup("").join(parts)


def _mark(series: int, x: float, y: float) -> Markup:
    if series == 0:
        return circle(x, y, 5.5, "mark s0")
    points = " ".join(f"{x + dx:g},{y + dy:g}" for dx, dy in _CORNERS[series])
    return Markup('<polygon points="{}" class="mark s{}"/>').format(points, series)


_CORNERS: dict[int, list[tuple[float, float]]] = {
    1: [(-5, -5), (5, -5), (5, 5), (-5, 5)],
    2: [(0, -6.5), (6.5, 5), (-6.5, 5)],
    3: [(0, -7), (7, 0), (0, 7), (-7, 0)],
}


def histogram(title: str, counts: Sequence[int], series: int) -> Markup:
    """Plot the number of responses by length, with a line at 60 words."""
    top = max((*counts, LIMIT + 2 * BIN))
    bins = [0] * (top // BIN + 1)
    for count in counts:
        bins[count // BIN] += 1
    highest, height = max(bins, default=0) or 1, 110
    wide = WIDTH / len(bins)
    parts = []
    for number, held in enumerate(bins):
        if not held:
            continue
        tall = round(height * held / highest, 1)
        box = (round(LEFT + number * wide + 1, 1), TOP + height - tall, round(wide - 2, 1), tall)
        rect = '<rect x="{}" y="{}" width="{}" height="{}" class="mark s{}"/>'
        parts.append(Markup(rect).format(*box, series % SHAPES))
    base = TOP + height
    x = round(LEFT + LIMIT / (len(bins) * BIN) * WIDTH, 1)
    ticks = range(0, len(bins) * BIN + 1, 20)
    parts += [
        line(x, TOP, x, base, "limit"),
        text(x + 4, TOP + 8, "60 words", "value"),
        text(LEFT - 10, TOP + 10, f"{highest} responses", "name"),
        _axis(base, ticks, len(bins) * BIN),
    ]
    return figure(title, LEFT + WIDTH + RIGHT, base + BOTTOM, parts)


def _axis(y: float, ticks: Sequence[float], top: float) -> Markup:
    parts = [line(LEFT, y, LEFT + WIDTH, y)]
    for tick in ticks:
        x = across(tick, top)
        parts += [line(x, y, x, y + 4), text(x, y + 18, f"{tick:g}", "tick")]
    return Markup("").join(parts)


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> Markup:
    """Draw a line."""
    drawn = '<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>'
    return Markup(drawn).format(x1, y1, x2, y2, kind)


def circle(x: float, y: float, radius: float, kind: str) -> Markup:
    """Draw a circle."""
    return Markup('<circle cx="{}" cy="{}" r="{:g}" class="{}"/>').format(x, y, radius, kind)


def text(x: float, y: float, words: str, kind: str) -> Markup:
    """Draw a text."""
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(x, y, kind, words)


def shorten(words: str, longest: int = 26) -> str:
    """Shorten a text that is too long for its place."""
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def figure(
    title: str, width: float, height: float, parts: Sequence[Markup], more: str = ""
) -> Markup:
    """Return the SVG element of a plot; `more` are further attributes."""
    head = Markup('<svg viewBox="0 0 {} {:g}" role="img" aria-label="{}"{}><title>{}</title>')
    return Markup("").join(
        [head.format(width, height, title, Markup(more), title), *parts, Markup("</svg>")]
    )
