"""A tournament on the page: the matrix of win shares, and the ratings with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup, escape
from pydantic import ValidationError

from touche_rad.contests.tournament.folder import CONTESTS, OUTCOMES, RATINGS
from touche_rad.contests.tournament.result import FORMAT, Standing, Tournament, format_share
from touche_rad.errors import InputError, UserError

_CELL, _HEAD, _NAME, _ROOM = 62, 26, 30, 10
_LETTER: Final = 7.6
_WIDE: Final = 480
_LOOKED_AT: Final = 200
_SMALLEST: Final = 0.75


@dataclass(frozen=True)
class TournamentSection:
    """A tournament as the page shows it."""

    name: str
    path: Path
    result: Tournament
    matrix: Markup
    ratings: Markup


def split_runs_and_ratings(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Part runs from ratings; of a tournament's folder the debates and verdicts are runs."""
    runs: list[Path] = []
    ratings: list[Path] = []
    for path in paths:
        if path.is_dir():
            if not (path / RATINGS).is_file():
                raise UserError(f"{path}: expected a tournament's folder, with {RATINGS}")
            ratings.append(path / RATINGS)
            runs += [one for one in (path / OUTCOMES, path / CONTESTS) if one.is_file()]
        elif _is_ratings(path):
            ratings.append(path)
        else:
            runs.append(path)
    return runs, ratings


def _is_ratings(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return FORMAT.encode() in file.read(_LOOKED_AT)
    except OSError:
        return False


def read_tournament(path: Path) -> TournamentSection:
    """Read and draw a tournament's result."""
    try:
        result = Tournament.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(path, f"is no tournament's result: {first['msg']}", field=place) from None
    if any(len(row) != len(result.standings) for row in (result.shares, *result.shares)):
        raise InputError(path, "expected as many rows and columns as debaters", field="shares")
    name = path.parent.name or path.name
    return TournamentSection(name, path, result, matrix(result), ratings(result.standings))


def matrix(result: Tournament) -> Markup:
    """Draw who won against whom: the share stands in its cell, and shades it."""
    count = len(result.standings)
    left = _room(result.standings)
    width, height = left + count * _CELL, _HEAD + count * _CELL
    parts: list[Markup] = []
    for number, one in enumerate(result.standings):
        middle = left + (number + 0.5) * _CELL
        y = _HEAD + (number + 0.5) * _CELL + 4
        parts.append(_text(middle, _HEAD - _ROOM, str(number + 1), "tick"))
        parts.append(_text(left - _ROOM, y, f"{number + 1} {_short(one.name)}", "name"))
    for row, shares in enumerate(result.shares):
        for column, share in enumerate(shares):
            x, y = left + column * _CELL, _HEAD + row * _CELL
            parts.append(_cell(x, y, None if row == column else share))
            if row != column:
                told = (
                    f"{result.standings[row].name} against {result.standings[column].name}: "
                    f"{format_share(share)} of {_met(result, row, column)} debates"
                )
                parts.append(_value(x, y, share, told))
    title = "Share of wins of the row against the column"
    head = Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="{}" class="matrix" '
        'style="max-width: {}px; min-width: {}px"><title>{}</title>'
    ).format(width, height, title, width, _least(width), title)
    return head + Markup("").join(parts) + Markup("</svg>")


def _met(result: Tournament, row: int, column: int) -> int:
    try:
        return result.met[row][column]
    except IndexError:
        return 0


def _cell(x: float, y: float, share: float | None) -> Markup:
    rect = '<rect x="{}" y="{}" width="{}" height="{}" class="cell{}" fill-opacity="{}"/>'
    side = " won" if share is not None and share >= 0.5 else " lost"
    shade = 0.0 if share is None else round(abs(share - 0.5) * 1.2, 3)
    return Markup(rect).format(x + 1, y + 1, _CELL - 2, _CELL - 2, side, shade)


def _value(x: float, y: float, share: float | None, told: str) -> Markup:
    text = '<text x="{}" y="{}" class="share">{}<title>{}</title></text>'
    return Markup(text).format(x + _CELL / 2, y + _CELL / 2 + 5, format_share(share), told)


def ratings(standings: Sequence[Standing]) -> Markup:
    """Draw the ratings with their intervals, on an axis of round hundreds."""
    ends = [end for one in standings for end in (one.rating, one.low, one.high) if end is not None]
    low = math.floor((min(ends, default=1000.0) - 20) / 100) * 100
    high = math.ceil((max(ends, default=1000.0) + 20) / 100) * 100
    y, left = 12.0, _room(standings)
    parts: list[Markup] = []
    step = 100 * max(1, round((high - low) / 800))
    bottom = y + 24 * len(standings) + 8
    for tick in range(low, high + 1, step):
        x = left + _across(tick, low, high)
        kind = "limit" if tick == 1000 else "axis"
        parts.append(_line(x, 4, x, bottom, kind))
        parts.append(_text(x, bottom + 16, str(tick), "tick"))
    for number, one in enumerate(standings):
        row = y + 24 * number + 8
        parts.append(_text(left - _ROOM, row + 4, f"{number + 1} {_short(one.name)}", "name"))
        if one.low is not None and one.high is not None:
            start, end = _across(one.low, low, high), _across(one.high, low, high)
            parts.append(_line(left + start, row, left + end, row, "bar s0"))
        x = left + _across(one.rating, low, high)
        parts.append(Markup('<circle cx="{}" cy="{}" r="5.5" class="mark s0"/>').format(x, row))
        parts.append(_text(left + _WIDE + 12, row + 4, f"{one.rating:.0f}", "value"))
    title = "Bradley-Terry ratings with 95 % intervals"
    box = f"0 0 {left + _WIDE + 60} {bottom + 26:g}"
    head = Markup(
        '<svg viewBox="{}" role="img" aria-label="{}" style="min-width: {}px"><title>{}</title>'
    )
    least = _least(left + _WIDE + 60)
    return head.format(box, title, least, escape(title)) + Markup("").join(parts) + Markup("</svg>")


def _least(width: float) -> int:
    """Return how narrow a drawing may become: then it is scrolled, and can still be read."""
    return round(width * _SMALLEST)


def _room(standings: Sequence[Standing]) -> int:
    """How much of the width the names take."""
    letters = max((len(_short(one.name)) for one in standings), default=0) + 3
    return round(letters * _LETTER) + _ROOM


def _across(value: float, low: float, high: float) -> float:
    return round(_WIDE * (value - low) / max(high - low, 1), 1)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    line = '<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>'
    return Markup(line).format(x1, y1, x2, y2, kind)


def _text(x: float, y: float, text: str, kind: str) -> Markup:
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(x, y, kind, text)


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
