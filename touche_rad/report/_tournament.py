"""A tournament in the report: its result in words, a plot of the ratings, and its tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from touche_rad import files
from touche_rad.contests.tournament.folder import CONTESTS, GAMES, OUTCOMES, RATINGS
from touche_rad.contests.tournament.result import (
    COLUMNS,
    COST_COLUMNS,
    VERSION,
    Standing,
    Tournament,
    format_share,
)
from touche_rad.errors import InputError, UserError, refuse_newer
from touche_rad.files import Kind
from touche_rad.files.outputs import STATUS
from touche_rad.files.records import field_error, read_json
from touche_rad.files.traces import TRACE
from touche_rad.plots.svg import Dot, dot_plot
from touche_rad.report import boards
from touche_rad.report.boards import Board, names_of
from touche_rad.score.tables import table
from touche_rad.text import count_of

_LISTED: Final = (*files.DEBATES, Kind.OUTCOMES, Kind.RUN, Kind.CLAIMS)


def is_folder_of_runs(path: Path) -> bool:
    """Whether a path is a folder, and not that of a tournament."""
    return path.is_dir() and not (path / RATINGS).is_file()


def split_runs_and_ratings(
    paths: Sequence[Path], labels: Path | None
) -> tuple[list[Path], list[Path]]:
    """Return runs and ratings files; a folder contains runs and tournaments, a tournament both."""
    runs: list[Path] = []
    ratings: list[Path] = []
    for path in (one for given in paths for one in _inside(given, labels)):
        if path.is_dir():
            ratings.append(path / RATINGS)
            runs += [one for one in (path / OUTCOMES, path / CONTESTS) if one.is_file()]
        elif _is_ratings(path):
            ratings.append(path)
        else:
            runs.append(path)
    return runs, ratings


def _inside(path: Path, labels: Path | None) -> list[Path]:
    """Return a path, or the runs and tournaments in a folder of runs."""
    if not is_folder_of_runs(path):
        return [path]
    own = [one for one in sorted(path.iterdir()) if not labels or one.resolve() != labels.resolve()]
    if (path / GAMES).is_file():
        command = f"the command that began it (touche-rad tournament ... -o {path})"
        raise UserError(f"{path}: the tournament is not finished; repeat {command}")
    found = [one for one in own if (one / RATINGS).is_file() or _is_ratings(one) or _is_run(one)]
    if not found:
        raise UserError(f"{path}: expected a folder with runs, or of a tournament with {RATINGS}")
    return found


def _is_ratings(path: Path) -> bool:
    """Whether a file is a tournament's result, by its name or its content."""
    if path.name == RATINGS or path.suffix != ".json" or not path.is_file():
        return path.name == RATINGS
    with path.open("rb") as stream:
        return b'"touche-rad tournament ' in stream.read(100)


def _is_run(path: Path) -> bool:
    """Whether a file is a run, or is listed as one that cannot be read."""
    if not path.is_file() or path.name.endswith((STATUS, TRACE)):
        return False
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        return True
    try:
        return files.detect_kind(path) in _LISTED
    except UserError:
        return False


def read_tournament(path: Path) -> Tournament:
    """Read a tournament's result."""
    try:
        record = read_json(path)
        refuse_newer(path, record, VERSION)
        result = Tournament.model_validate_json(json.dumps(record))
    except ValidationError as error:
        raise InputError(path, f"not a tournament's result: {field_error(error)}") from None
    except (OSError, ValueError) as error:
        raise InputError(path, f"not a tournament's result: {error}") from None
    if any(len(row) != len(result.standings) for row in (result.shares, *result.shares)):
        raise InputError(path, "expected as many rows and columns as debaters", field="shares")
    return result


def tournament_board(result: Tournament) -> Board:
    """Show the result of a tournament like other leaderboards."""
    standings, names = result.standings, [one.name for one in result.standings]
    costs = COST_COLUMNS if any(one.asked for one in standings) else {}
    columns = {**COLUMNS, "{fallbacks}": "fallbacks", **costs}
    shares = dict(zip(product(names, names), chain(*result.shares), strict=True))
    wins = boards.matrix(
        "Share of wins of the row against the column, ties as halves",
        names,
        lambda *pair: shares[pair],
        format_share,
    )
    rated = [Dot(one.name, one.rating, one.low, one.high) for one in standings]
    return Board(
        f"Tournament: {count_of(result.debates, 'debate')} on {count_of(result.claims, 'claim')}",
        list(_in_words(standings, result.claims)),
        _note(result),
        [boards.board_table("Ratings", table(columns, standings)), wins],
        [dot_plot("Ratings (1000 is average)", rated, [("average", 1000.0)], digits=0, axis=())],
        warnings=[*[boards.WITHOUT_MODEL] * (not result.judge_model), *result.fallbacks()],
    )


def _in_words(standings: Sequence[Standing], claims: int) -> Iterator[str]:
    """Say who leads, and who does not differ significantly from the leader."""
    shown = {one.name: f"{one.rating:.0f}" for one in standings}
    few = boards.too_few(shown, "rating", claims, "claims")
    if few or not standings or standings[0].low is None:
        yield from few
        return
    leader = standings[0].name
    best = [name for name, rating in shown.items() if rating == shown[leader]]
    yield f"{names_of(best)} {'has' if len(best) == 1 else 'have'} the highest rating."
    apart = [one.name for one in standings if one.differs]
    close = [one.name for one in standings if one.differs is False and one.name not in best]
    if apart:
        yield f"{leader} is significantly stronger than {names_of(apart)}."
    if close:
        yield f"{boards.are(close)} not significantly different from {leader}."


def _note(result: Tournament) -> str:
    speeches = count_of(result.rounds, "speech", "speeches")
    words = f" of at most {result.words} words" if result.words else ""
    model = f" ({result.judge_model})" if result.judge_model else ""
    limits = [
        f"{limit} {what}"
        for limit, what in ((result.max_calls, "calls"), (result.max_tokens, "tokens"))
        if limit is not None
    ]
    parts = [
        f"Each pair of debaters played both sides of each claim, {speeches} a side{words}. "
        f"Judged by {result.judge}{model}.",
        f"The side for the claim won {format_share(result.pro_share)} of the debates."
        if result.pro_share is not None
        else "",
        f"{result.undecided} debates have no verdict and do not count." if result.undecided else "",
        f"Budget per debater and debate: {' and '.join(limits)} of {result.model or 'a model'}."
        if limits
        else "",
        "Intervals are a bootstrap of claims; with few claims they are too narrow. "
        "“Significantly” means that the interval of the difference of two ratings excludes 0.",
    ]
    return " ".join(filter(None, parts))
