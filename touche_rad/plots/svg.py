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
_LETTERS: Final = 15
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
    low, high = min(values, default=0.0), max(values, default=1.0)
    reach = max(high - low, 1e-9)
    step = next(
        (one for one in _STEPS if reach / one <= 5 + 1e-9), 10 ** math.ceil(math.log10(reach))
    )
    bottom, top = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
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
    ends = [end for row in rows for end in (row.low, row.value, row.high) if end is not None]
    ends += [*axis, *(value for _, value in baselines)]
    own = scale(ends)
    top = 10 + 16 * len(baselines)
    bottom = top + ROW * len(rows) + 4
    parts: list[Markup] = []
    for tick in own.ticks():
        x = own.across(tick)
        parts += [_line(x, top, x, bottom, "grid"), _text(x, bottom + 16, f"{tick:g}", "tick")]
    for at, (name, value) in enumerate(baselines):
        x, y = own.across(value), 18 + 16 * at
        label = f"{_shorten(name, 24)} {value:.{digits}f}"
        half = 3.4 * len(label)  # of the label's width: it must not leave the plot
        middle = round(min(max(x, half), NAME + SPAN + VALUE + 16 - half), 1)
        parts += [_line(x, top - 1, x, bottom, "baseline"), _text(middle, y, label, "tick")]
    for number, row in enumerate(rows):
        y = top + ROW * number + 12
        parts.append(_text(NAME - 8, y + 4, _shorten(row.label, _LETTERS), "name"))
        if row.low is not None and row.high is not None:
            parts.append(_line(own.across(row.low), y, own.across(row.high), y, "bar s0"))
        circle = Markup('<circle cx="{}" cy="{}" r="4.5" class="mark s0"/>')
        parts.append(circle.format(own.across(row.value), y))
        value_text = f"{row.value:.{digits}f}"
        parts.append(_text(NAME + SPAN + VALUE + 14, y + 4, value_text, "name value"))
    return _figure(title, bottom + 22, parts)


def line_plot(
    title: str, series: Mapping[str, Sequence[float | None]], *, axis: Sequence[float] = ()
) -> Markup:
    """Plot values by turn, a line for each name; a turn without a value is left out."""
    known = [value for values in series.values() for value in values if value is not None]
    own, left, top, height = scale([*axis, *known]), 40, 16, 120
    right, bottom = WIDTH - 16, top + height
    turns = max((len(values) for values in series.values()), default=1)

    def place(turn: int, value: float) -> tuple[float, float]:
        across = (right - left) * turn / max(turns - 1, 1)
        return round(left + across, 1), round(bottom - height * own.share(value), 1)

    parts = []
    for tick in own.ticks():
        y = place(0, tick)[1]
        parts += [_line(left, y, right, y, "grid"), _text(left - 8, y + 4, f"{tick:g}", "name")]
    for turn in range(turns):
        parts.append(_text(place(turn, own.low)[0], bottom + 16, str(turn + 1), "tick"))
    for number, (name, values) in enumerate(series.items()):
        points = [place(at, value) for at, value in enumerate(values) if value is not None]
        kind, dash = f"s{number % COLOURS}", f"{3 * number} 3" if number else "none"
        y = bottom + 36 + 18 * number
        shape = Markup('<polyline points="{}" class="line {}" stroke-dasharray="{}"/>')
        for of in (points, [(left, y - 4), (left + 28, y - 4)]):
            text = " ".join(f"{one:g},{other:g}" for one, other in of)
            parts.append(shape.format(text, kind, dash))
        circle = Markup('<circle cx="{}" cy="{}" r="3.5" class="{}"/>')
        parts += [circle.format(one, other, kind) for one, other in points]
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
    shape = '<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>'
    return Markup(shape).format(x1, y1, x2, y2, kind)


def _text(x: float, y: float, words: str, kind: str) -> Markup:
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(x, y, kind, words)


def _shorten(words: str, longest: int) -> str:
    half = longest // 2  # names often differ at their end
    return words if len(words) <= longest else f"{words[:half]}…{words[-half:]}"
