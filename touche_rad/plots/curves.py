"""Line plots of training metrics as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from markupsafe import Markup

from touche_rad.plots.svg import LEFT, RIGHT, TOP, WIDTH, circle, figure, line, text

Points = Sequence[tuple[float, float]]

HEIGHT: Final = 180
_BOTTOM: Final = 34
_NAMESPACE: Final = ' xmlns="http://www.w3.org/2000/svg"'
_STYLE: Final = Markup(
    "<style>text{{font:12px sans-serif;fill:#222}}.tick{{text-anchor:middle}}"
    ".name{{text-anchor:end}}.axis{{stroke:#888}}polyline{{fill:none;stroke-width:2}}"
    ".s0{{stroke:#1b6ca8}}.s1{{stroke:#b4491b;stroke-dasharray:6 3}}"
    ".s2{{stroke:#3c7a3a;stroke-dasharray:2 3}}.s3{{stroke:#6b4c9a;stroke-dasharray:9 3 2 3}}"
    "circle{{fill:#fff;stroke-width:2}}</style>"
).format()


def curves(title: str, lines: Mapping[str, Points], unit: str = "steps") -> Markup:
    """Plot up to four metrics over training steps, or over another unit."""
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
    parts = [_STYLE, line(LEFT, base, LEFT + WIDTH, base), line(LEFT, TOP, LEFT, base)]
    parts.append(text(LEFT + WIDTH + 12, base + 4, unit, "unit"))
    for share in (0.0, 0.5, 1.0):
        value = low + share * (high - low)
        y = at(0, value)[1]
        parts += [line(LEFT - 4, y, LEFT, y), text(LEFT - 8, y + 4, f"{value:.3g}", "name")]
        parts.append(text(LEFT + WIDTH * share, base + 18, f"{last * share:g}", "tick"))
    for number, (name, points) in enumerate(drawn.items()):
        places = [at(*point) for point in points]
        joined = " ".join(f"{x:g},{y:g}" for x, y in places)
        parts.append(Markup('<polyline points="{}" class="s{}"/>').format(joined, number))
        x, y = places[-1]
        parts.append(circle(x, y, 4, f"s{number}"))
        parts.append(_legend(name, number, base))
    height = base + _BOTTOM + 16 * len(drawn)
    return figure(title, LEFT + WIDTH + RIGHT, height, parts, _NAMESPACE) + "\n"


def _legend(name: str, number: int, base: float) -> Markup:
    y = base + _BOTTOM + 16 * number
    sample = Markup('<polyline points="{},{} {},{}" class="s{}"/>').format(
        LEFT, y - 4, LEFT + 34, y - 4, number
    )
    return sample + text(LEFT + 42, y, name, "legend")
