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
from touche_rad.report.boards import Board
from touche_rad.score import words
from touche_rad.score.cautions import WITHOUT_MODEL
from touche_rad.score.tables import table
from touche_rad.score.words import names_of
from touche_rad.text import count_of

_KINDS_OF_RUNS: Final = (*files.DEBATES, Kind.OUTCOMES, Kind.RUN, Kind.CLAIMS)


def is_folder_of_runs(path: Path) -> bool:
    """Whether a path is a folder, and not that of a tournament."""
    return path.is_dir() and not (path / RATINGS).is_file()


def split_runs_and_ratings(
    paths: Sequence[Path], labels: Path | None
) -> tuple[list[Path], list[Path]]:
    """Return runs and ratings files; a folder contains runs and tournaments, a tournament both."""
    runs: list[Path] = []
    ratings: list[Path] = []
    for input_path in paths:
        inputs = [input_path]
        if is_folder_of_runs(input_path):
            inputs = _runs_and_tournaments(input_path, labels)
        for path in inputs:
            if path.is_dir():
                ratings.append(path / RATINGS)
                runs += [file for file in (path / OUTCOMES, path / CONTESTS) if file.is_file()]
            elif _is_ratings(path):
                ratings.append(path)
            else:
                runs.append(path)
    return runs, ratings


def _runs_and_tournaments(folder: Path, labels: Path | None) -> list[Path]:
    """Return the runs and tournaments in a folder; the labels of the report are none of them."""
    if (folder / GAMES).is_file():
        command = f"the command that began it (touche-rad tournament ... -o {folder})"
        raise UserError(f"{folder}: the tournament is not finished; repeat {command}")
    inputs = []
    for path in sorted(folder.iterdir()):
        if labels and path.resolve() == labels.resolve():
            continue
        if (path / RATINGS).is_file() or _is_ratings(path) or _is_run(path):
            inputs.append(path)
    if not inputs:
        raise UserError(f"{folder}: expected a folder with runs, or of a tournament with {RATINGS}")
    return inputs


def _is_ratings(path: Path) -> bool:
    """Whether a file is a tournament's result, by its name or its content."""
    if path.name == RATINGS or path.suffix != ".json" or not path.is_file():
        return path.name == RATINGS
    # Its first field says what it is; a folder of runs may have large files.
    with path.open("rb") as stream:
        return b'"touche-rad tournament ' in stream.read(100)


def _is_run(path: Path) -> bool:
    """Whether a file is a run, or is listed as one that cannot be read."""
    if not path.is_file() or path.name.endswith((STATUS, TRACE)):
        return False
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        return True
    try:
        return files.detect_kind(path) in _KINDS_OF_RUNS
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
    standings = result.standings
    names = [standing.name for standing in standings]
    columns = {**COLUMNS, "{fallbacks}": "fallbacks"}
    shares = dict(zip(product(names, names), chain(*result.shares), strict=True))
    wins = boards.matrix(
        "Share of wins of the row against the column, ties as halves",
        names,
        lambda *pair: shares[pair],
        format_share,
    )
    dots = [
        Dot(standing.name, standing.rating, standing.low, standing.high) for standing in standings
    ]
    warnings = [] if result.judge_model else [WITHOUT_MODEL]
    return Board(
        f"Tournament: {count_of(result.debates, 'debate')} on {count_of(result.claims, 'claim')}",
        list(_in_words(standings, result.claims)),
        _note(result),
        [boards.board_table("Ratings", table(columns, standings)), wins],
        [dot_plot("Ratings (1000 is average)", dots, [("average", 1000.0)], digits=0, axis=())],
        warnings=[*warnings, *result.fallbacks()],
    )


def _in_words(standings: Sequence[Standing], claims: int) -> Iterator[str]:
    """Say who leads, and who does not differ significantly from the leader."""
    shown = {standing.name: f"{standing.rating:.0f}" for standing in standings}
    too_few = words.too_few(shown, "rating", claims, "claims")
    if too_few or not standings or standings[0].low is None:
        yield from too_few
        return
    leader = standings[0].name
    best = [name for name, rating in shown.items() if rating == shown[leader]]
    have = "has" if len(best) == 1 else "have"
    yield f"{names_of(best)} {have} the highest rating."
    apart = [standing.name for standing in standings if standing.differs]
    close = [
        standing.name
        for standing in standings
        if standing.differs is False and standing.name not in best
    ]
    if apart:
        yield f"{leader} is significantly stronger than {names_of(apart)}."
    if close:
        yield f"{words.are(close)} not significantly different from {leader}."


def _note(result: Tournament) -> str:
    speeches = count_of(result.rounds, "speech", "speeches")
    words = f" of at most {result.words} words" if result.words else ""
    model = f" ({result.judge_model})" if result.judge_model else ""
    parts = [
        f"Each pair of debaters played both sides of each claim, {speeches} a side{words}. "
        f"Judged by {result.judge}{model}."
    ]
    if result.pro_share is not None:
        share = format_share(result.pro_share)
        parts.append(f"The side for the claim won {share} of the debates.")
    if result.undecided:
        parts.append(f"{result.undecided} debates have no verdict and do not count.")
    parts.append(
        "Intervals are a bootstrap of claims; with few claims they are too narrow. "
        "“Significantly”: p of the difference from the first rating is below .05, corrected by "
        "Holm."
    )
    return " ".join(parts)
