"""Dot plots as SVG.

Dot plots are as wide as a phone, so that their text keeps its size; wider pages show several in a
row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

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
    ends += [value for _, value in baselines]
    if digits and all(0 <= end <= 1 for end in ends):
        ends += [0.0, 1.0]  # shares and scores: all plots of a page have one scale
    own = scale(ends)
    top = 6 + 16 * len(baselines)
    bottom = top + ROW * len(rows) + 4
    parts: list[Markup] = []
    for tick in own.ticks():
        x = own.across(tick)
        parts += [_line(x, top, x, bottom, "grid"), _text(x, bottom + 16, f"{tick:g}", "tick")]
    for at, (name, value) in enumerate(baselines):
        x, y = own.across(value), 14 + 16 * at
        label = f"{_shorten(name, 24)} {value:.{digits}f}"
        half = 3.4 * len(label)  # of the label's width: it must not leave the plot
        middle = round(min(max(x, half), NAME + SPAN + VALUE + 16 - half), 1)
        parts += [_line(x, y + 3, x, bottom, "baseline"), _text(middle, y, label, "tick")]
    for number, row in enumerate(rows):
        y = top + ROW * number + 12
        parts.append(_text(NAME - 8, y + 4, _shorten(row.label, _LETTERS), "name"))
        if row.low is not None and row.high is not None:
            parts.append(_line(own.across(row.low), y, own.across(row.high), y, "bar s0"))
        circle = Markup('<circle cx="{}" cy="{}" r="4.5" class="mark s0"/>')
        parts.append(circle.format(own.across(row.value), y))
        value_text = f"{row.value:.{digits}f}"
        parts.append(_text(NAME + SPAN + VALUE + 14, y + 4, value_text, "name value"))
    head = Markup('<svg viewBox="0 0 {} {:g}" role="img" aria-label="{}"><title>{}</title>')
    width = NAME + SPAN + VALUE + 16
    return Markup("").join(
        [head.format(width, bottom + 22, title, title), *parts, Markup("</svg>")]
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    shape = '<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>'
    return Markup(shape).format(x1, y1, x2, y2, kind)


def _text(x: float, y: float, words: str, kind: str) -> Markup:
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(x, y, kind, words)


def _shorten(words: str, longest: int) -> str:
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
