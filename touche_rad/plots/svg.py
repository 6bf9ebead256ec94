"""Plots of values with intervals, and of values by turn, as figures with SVG.

Plots are as wide as a phone, so that their text keeps its size; wider pages show several in a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from touche_rad.text import printable

NAME: Final = 132
SPAN: Final = 206
VALUE: Final = 46
"""Sizes of dot plots: names, the scale, and values."""
ROW: Final = 22
WIDTH: Final = NAME + SPAN + VALUE + 16
COLOURS: Final = 4
_LETTERS_OF_NAMES: Final = 15
_STEPS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 500)


@dataclass(frozen=True)
class Dot:
    """A value with its interval and label."""

    label: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Scale:
    """The range of a plot; places are between its left and right end."""

    low: float
    high: float
    step: float

    def share(self, value: float) -> float:
        """Return where a value is, from 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def across(self, value: float) -> float:
        """Return the horizontal place of a value."""
        return round(NAME + SPAN * self.share(value), 1)

    def ticks(self) -> Iterator[float]:
        """Yield round values."""
        for at in range(round((self.high - self.low) / self.step) + 1):
            yield round(self.low + at * self.step, 6)


def scale(values: Sequence[float]) -> Scale:
    """Return the smallest range with round ends that contains all values."""
    low = min(values, default=0.0)
    high = max(values, default=1.0)
    reach = max(high - low, 1e-9)
    steps = (step for step in _STEPS if reach / step <= 5 + 1e-9)
    step = next(steps, 10 ** math.ceil(math.log10(reach)))
    bottom = math.floor(low / step + 1e-9) * step
    top = math.ceil(high / step - 1e-9) * step
    return Scale(bottom, top if top > bottom else bottom + step, step)


def dot_plot(
    title: str,
    rows: Sequence[Dot],
    baselines: Sequence[tuple[str, float]] = (),
    *,
    digits: int = 3,
    axis: Sequence[float] = (0.0, 1.0),
) -> Markup:
    """Plot values with intervals, one per row; each baseline is a line through all rows.

    The scale has all values of `axis`, so that plots of the same measure have one scale.
    """
    values = [*axis, *(value for _, value in baselines)]
    for row in rows:
        values += [value for value in (row.low, row.value, row.high) if value is not None]
    x_scale = scale(values)
    top = 10 + 16 * len(baselines)
    bottom = top + ROW * len(rows) + 4
    parts: list[Markup] = []
    for tick in x_scale.ticks():
        x = x_scale.across(tick)
        parts.append(_line(x, top, x, bottom, "grid"))
        parts.append(_text(x, bottom + 16, f"{tick:g}", "tick"))
    for number, (name, value) in enumerate(baselines):
        x = x_scale.across(value)
        label = f"{_shorten(name, 24)} {value:.{digits}f}"
        half = 3.4 * len(label)  # of the label's width: it must not leave the plot
        middle = round(min(max(x, half), WIDTH - half), 1)
        parts.append(_line(x, top - 1, x, bottom, "baseline"))
        parts.append(_text(middle, 18 + 16 * number, label, "tick"))
    circle = Markup('<circle cx="{}" cy="{}" r="4.5" class="mark s0"/>')
    for number, row in enumerate(rows):
        y = top + ROW * number + 12
        parts.append(_text(NAME - 8, y + 4, _shorten(row.label, _LETTERS_OF_NAMES), "name"))
        if row.low is not None and row.high is not None:
            parts.append(_line(x_scale.across(row.low), y, x_scale.across(row.high), y, "bar s0"))
        parts.append(circle.format(x_scale.across(row.value), y))
        parts.append(_text(WIDTH - 2, y + 4, f"{row.value:.{digits}f}", "name value"))
    return _figure(title, bottom + 22, parts)


def line_plot(
    title: str, series: Mapping[str, Sequence[float | None]], *, axis: Sequence[float] = ()
) -> Markup:
    """Plot values by turn, a line for each name; a turn without a value is left out."""
    known = [*axis]
    for values in series.values():
        known += [value for value in values if value is not None]
    y_scale = scale(known)
    left = 40
    right = WIDTH - 16
    top = 16
    height = 120
    bottom = top + height
    turns = max(map(len, series.values()), default=1)

    def place(turn: int, value: float) -> tuple[float, float]:
        across = (right - left) * turn / max(turns - 1, 1)
        return round(left + across, 1), round(bottom - height * y_scale.share(value), 1)

    parts = []
    for tick in y_scale.ticks():
        _, y = place(0, tick)
        parts.append(_line(left, y, right, y, "grid"))
        parts.append(_text(left - 8, y + 4, f"{tick:g}", "name"))
    for turn in range(turns):
        x, _ = place(turn, y_scale.low)
        parts.append(_text(x, bottom + 16, str(turn + 1), "tick"))
    polyline = Markup('<polyline points="{}" class="line {}" stroke-dasharray="{}"/>')
    circle = Markup('<circle cx="{}" cy="{}" r="3.5" class="{}"/>')
    for number, (name, values) in enumerate(series.items()):
        points = [place(turn, value) for turn, value in enumerate(values) if value is not None]
        colour = f"s{number % COLOURS}"
        dashes = f"{3 * number} 3" if number else "none"
        y = bottom + 36 + 18 * number
        in_legend = [(left, y - 4), (left + 28, y - 4)]
        for line in (points, in_legend):
            corners = " ".join(f"{x:g},{y:g}" for x, y in line)
            parts.append(polyline.format(corners, colour, dashes))
        parts += [circle.format(*point, colour) for point in points]
        parts.append(_text(left + 36, y, name, ""))
    return _figure(title, bottom + 28 + 18 * len(series), parts)


def _figure(title: str, height: float, parts: Sequence[Markup]) -> Markup:
    head = Markup(
        "<figure><figcaption>{0}</figcaption>"
        '<svg viewBox="0 0 {1} {2:g}" role="img" aria-label="{0}"><title>{0}</title>'
    )
    return Markup("").join(
        [head.format(printable(title), WIDTH, height), *parts, Markup("</svg></figure>")]
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    line = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>')
    return line.format(x1, y1, x2, y2, kind)


def _text(x: float, y: float, words: str, kind: str) -> Markup:
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(x, y, kind, words)


def _shorten(words: str, limit: int) -> str:
    half = limit // 2  # names often differ at their end
    return words if len(words) <= limit else f"{words[:half]}…{words[-half:]}"
