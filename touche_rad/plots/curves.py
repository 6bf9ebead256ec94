"""Line plots of training metrics as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from markupsafe import Markup, escape

from touche_rad.plots.svg import LEFT, RIGHT, TOP, WIDTH

Points = Sequence[tuple[float, float]]

HEIGHT: Final = 180
_BOTTOM: Final = 34
_STYLE: Final = Markup(
    "<style>text{{font:12px sans-serif;fill:#222}}.tick{{text-anchor:middle}}"
    ".name{{text-anchor:end}}.axis{{stroke:#888}}polyline{{fill:none;stroke-width:2}}"
    ".s0{{stroke:#1b6ca8}}.s1{{stroke:#b4491b;stroke-dasharray:6 3}}"
    ".s2{{stroke:#3c7a3a;stroke-dasharray:2 3}}.s3{{stroke:#6b4c9a;stroke-dasharray:9 3 2 3}}"
    "circle{{fill:#fff;stroke-width:2}}</style>"
).format()


def curves(title: str, lines: Mapping[str, Points]) -> Markup:
    """Plot up to four metrics over the training steps."""
    drawn = {name: points for name, points in list(lines.items())[:4] if points}
    values = [value for points in drawn.values() for _, value in points]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    last = max((step for points in drawn.values() for step, _ in points), default=1.0) or 1.0

    def at(step: float, value: float) -> tuple[float, float]:
        x = LEFT + WIDTH * step / last
        return round(x, 1), round(TOP + HEIGHT * (high - value) / (high - low), 1)

    base = TOP + HEIGHT
    parts = [_line(LEFT, base, LEFT + WIDTH, base), _line(LEFT, TOP, LEFT, base)]
    parts.append(_text(LEFT + WIDTH + 12, base + 4, "steps", "unit"))
    for share in (0.0, 0.5, 1.0):
        value = low + share * (high - low)
        y = at(0, value)[1]
        parts += [_line(LEFT - 4, y, LEFT, y), _text(LEFT - 8, y + 4, f"{value:.3g}", "name")]
        parts.append(_text(LEFT + WIDTH * share, base + 18, f"{last * share:g}", "tick"))
    for number, (name, points) in enumerate(drawn.items()):
        places = [at(*point) for point in points]
        joined = " ".join(f"{x:g},{y:g}" for x, y in places)
        parts.append(Markup('<polyline points="{}" class="s{}"/>').format(joined, number))
        x, y = places[-1]
        parts.append(Markup('<circle cx="{}" cy="{}" r="4" class="s{}"/>').format(x, y, number))
        parts.append(_legend(name, number, base))
    return _figure(title, base + _BOTTOM + 16 * len(drawn), parts)


def _legend(name: str, number: int, base: float) -> Markup:
    y = base + _BOTTOM + 16 * number
    sample = Markup('<polyline points="{},{} {},{}" class="s{}"/>').format(
        LEFT, y - 4, LEFT + 34, y - 4, number
    )
    return sample + _text(LEFT + 42, y, name, "legend")


def _line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    line = '<line x1="{}" y1="{}" x2="{}" y2="{}" class="axis"/>'
    return Markup(line).format(x1, y1, x2, y2)


def _text(x: float, y: float, text: str, kind: str) -> Markup:
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(x, y, kind, text)


def _figure(title: str, height: float, parts: Sequence[Markup]) -> Markup:
    head = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img" '
        'aria-label="{}"><title>{}</title>'
    ).format(LEFT + WIDTH + RIGHT, f"{height:g}", title, escape(title))
    return head + _STYLE + Markup("").join(parts) + Markup("</svg>\n")
