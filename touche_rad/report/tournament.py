"""A tournament in the report: its result, and a plot of the ratings with their intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup
from pydantic import ValidationError

from touche_rad.contests.tournament.folder import CONTESTS, OUTCOMES, RATINGS
from touche_rad.contests.tournament.result import (
    FORMAT_NAME,
    VERSION,
    Standing,
    Tournament,
)
from touche_rad.errors import InputError, UserError, refuse_newer
from touche_rad.plots.svg import circle, figure, line, shorten, text

_NAME, _ROOM = 30, 10
_LETTER: Final = 7.6
_WIDE: Final = 480
_LOOKED_AT: Final = 200
_SMALLEST: Final = 0.75


@dataclass(frozen=True)
class TournamentSection:
    """A tournament as the report shows it."""

    name: str
    path: Path
    result: Tournament
    ratings: Markup


def split_runs_and_ratings(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return runs and ratings files; a tournament's folder contains both."""
    runs: list[Path] = []
    ratings: list[Path] = []
    for path in paths:
        if path.is_dir():
            if not (path / RATINGS).is_file():
                raise UserError(f"{path}: expected the folder of a tournament with {RATINGS}")
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
            return FORMAT_NAME.encode() in file.read(_LOOKED_AT)
    except OSError:
        return False


def read_tournament(path: Path) -> TournamentSection:
    """Read a tournament's result and plot its ratings."""
    try:
        record = path.read_bytes()
        with suppress(ValueError):  # pydantic reports what is no JSON
            refuse_newer(path, json.loads(record), VERSION)
        result = Tournament.model_validate_json(record)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(path, f"not a tournament's result: {first['msg']}", field=place) from None
    if any(len(row) != len(result.standings) for row in (result.shares, *result.shares)):
        raise InputError(path, "expected as many rows and columns as debaters", field="shares")
    name = path.parent.name or path.name
    return TournamentSection(name, path, result, ratings(result.standings))


def ratings(standings: Sequence[Standing]) -> Markup:
    """Plot the ratings with their intervals."""
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
        parts.append(line(x, 4, x, bottom, kind))
        parts.append(text(x, bottom + 16, str(tick), "tick"))
    for number, one in enumerate(standings):
        row = y + 24 * number + 8
        parts.append(
            text(left - _ROOM, row + 4, f"{number + 1} {shorten(one.name, _NAME)}", "name")
        )
        if one.low is not None and one.high is not None:
            start, end = _across(one.low, low, high), _across(one.high, low, high)
            parts.append(line(left + start, row, left + end, row, "bar s0"))
        x = left + _across(one.rating, low, high)
        parts.append(circle(x, row, 5.5, "mark s0"))
        parts.append(text(left + _WIDE + 12, row + 4, f"{one.rating:.0f}", "value"))
    width = left + _WIDE + 60
    # The plot scrolls on narrower screens.
    least = f' style="min-width: {round(width * _SMALLEST)}px"'
    title = "Bradley-Terry ratings with 95 % intervals"
    return figure(title, width, bottom + 26, parts, least)


def _room(standings: Sequence[Standing]) -> int:
    """Return the width of the names."""
    letters = max((len(shorten(one.name, _NAME)) for one in standings), default=0) + 3
    return round(letters * _LETTER) + _ROOM


def _across(value: float, low: float, high: float) -> float:
    return round(_WIDE * (value - low) / max(high - low, 1), 1)
