"""Dot plots as SVG, and the shapes of all plots.

Dot plots are as wide as a phone, so that their text keeps its size; wider pages show several in a
row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

LEFT, WIDTH, RIGHT, TOP = 150, 480, 60, 12
"""Sizes of wide plots."""
NAME: Final = 132
SPAN: Final = 206
VALUE: Final = 46
"""Sizes of dot plots: names, the scale, and values."""
ROW: Final = 22
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

    def across(self, value: float) -> float:
        """Return the horizontal place of a value."""
        share = (value - self.low) / (self.high - self.low)
        return round(NAME + SPAN * min(max(share, 0.0), 1.0), 1)

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


def dots(
    title: str,
    rows: Sequence[Dot],
    baselines: Sequence[tuple[str, float]] = (),
    *,
    digits: int = 3,
) -> Markup:
    """Plot values with intervals, one per row; each baseline is a line through all rows."""
    ends = [end for row in rows for end in (row.low, row.value, row.high) if end is not None]
    own = scale([*ends, *(value for _, value in baselines)])
    top = 6 + 16 * len(baselines)
    bottom = top + ROW * len(rows) + 4
    parts: list[Markup] = []
    for tick in own.ticks():
        x = own.across(tick)
        parts += [line(x, top, x, bottom, "grid"), text(x, bottom + 16, f"{tick:g}", "tick")]
    for at, (name, value) in enumerate(baselines):
        x, y = own.across(value), 14 + 16 * at
        label = f"{shorten(name, 24)} {value:.{digits}f}"
        parts += [line(x, y + 3, x, bottom, "baseline"), text(_inside(x, label), y, label, "tick")]
    for number, row in enumerate(rows):
        y = top + ROW * number + 12
        parts.append(text(NAME - 8, y + 4, shorten(row.label, _LETTERS), "name"))
        if row.low is not None and row.high is not None:
            parts.append(line(own.across(row.low), y, own.across(row.high), y, "bar s0"))
        parts.append(circle(own.across(row.value), y, 4.5, "mark s0"))
        shown = f"{row.value:.{digits}f}"
        parts.append(text(NAME + SPAN + VALUE + 14, y + 4, shown, "name value"))
    return figure(title, NAME + SPAN + VALUE + 16, bottom + 22, parts)


def _inside(x: float, label: str) -> float:
    """Return the middle of a label that does not leave the plot."""
    half = 3.4 * len(label)
    return round(min(max(x, half), NAME + SPAN + VALUE + 16 - half), 1)


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
