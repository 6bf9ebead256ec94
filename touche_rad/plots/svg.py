"""Dot plots and histograms as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

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
        parts.append(_text(0, y + 14, head, "head"))
        for row in rows:
            y += ROW
            parts.append(_dot(row, y + 10))
        y += ROW + 8
    parts.insert(0, _axis(y, [0, 0.25, 0.5, 0.75, 1], 1.0))
    return _figure(title, y + BOTTOM, parts)


def _dot(row: Dot, y: float) -> Markup:
    x = across(row.value)
    parts = [_text(LEFT - 10, y + 4, row.label, "name")]
    if row.low is not None and row.high is not None:
        ends = (across(row.low), y, across(row.high), y, row.series % SHAPES)
        line = '<line x1="{}" y1="{}" x2="{}" y2="{}" class="bar s{}"/>'
        parts.append(Markup(line).format(*ends))
    parts.append(_mark(row.series % SHAPES, x, y))
    parts.append(_text(LEFT + WIDTH + 12, y + 4, f"{row.value:.3f}", "value"))
    return Markup("").join(parts)


def _mark(series: int, x: float, y: float) -> Markup:
    if series == 0:
        return Markup('<circle cx="{}" cy="{}" r="5.5" class="mark s0"/>').format(x, y)
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
    limit = '<line x1="{}" y1="{}" x2="{}" y2="{}" class="limit"/>'
    parts.append(Markup(limit).format(x, TOP, x, base))
    parts.append(_text(x + 4, TOP + 8, "60 words", "value"))
    parts.append(_text(LEFT - 10, TOP + 10, f"{highest} responses", "name"))
    ticks = range(0, len(bins) * BIN + 1, 20)
    parts.append(_axis(base, ticks, len(bins) * BIN))
    return _figure(title, base + BOTTOM, parts)


def _axis(y: float, ticks: Sequence[float], top: float) -> Markup:
    line = '<line x1="{}" y1="{}" x2="{}" y2="{}" class="axis"/>'
    parts = [Markup(line).format(LEFT, y, LEFT + WIDTH, y)]
    for tick in ticks:
        x = across(tick, top)
        parts.append(Markup(line).format(x, y, x, y + 4))
        parts.append(_text(x, y + 18, f"{tick:g}", "tick"))
    return Markup("").join(parts)


def _text(x: float, y: float, text: str, kind: str) -> Markup:
    shown = text if len(text) <= 26 else f"{text[:25]}…"
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(x, y, kind, shown)


def _figure(title: str, height: float, parts: Sequence[Markup]) -> Markup:
    box = f"0 0 {LEFT + WIDTH + RIGHT} {height:g}"
    head = Markup('<svg viewBox="{}" role="img" aria-label="{}"><title>{}</title>')
    return head.format(box, title, escape(title)) + Markup("").join(parts) + Markup("</svg>")
