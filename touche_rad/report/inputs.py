"""The inputs of a report: runs, tournaments, and folders of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from touche_rad import files
from touche_rad.contests.tournament.folder import CONTESTS, GAMES, OUTCOMES, RATINGS
from touche_rad.contests.tournament.result import VERSION, Tournament
from touche_rad.errors import InputError, UserError, refuse_newer
from touche_rad.files import Kind
from touche_rad.files.outputs import STATUS
from touche_rad.files.records import JOURNAL, field_error, read_json, refuse_links_out
from touche_rad.files.traces import TRACE

_BENCH: Final = "bench.toml"
_KINDS_OF_RUNS: Final = (*files.DEBATES, Kind.OUTCOMES, Kind.RUN, Kind.CLAIMS)


def split_runs_and_ratings(
    paths: Sequence[Path], labels: Path | None
) -> tuple[list[Path], list[Path]]:
    """Return runs and ratings files; a folder contains runs and tournaments, a tournament both."""
    runs: list[Path] = []
    ratings: list[Path] = []
    for path in expand_folders(paths, labels):
        if path.is_dir():
            ratings.append(path / RATINGS)
            runs += [file for file in (path / OUTCOMES, path / CONTESTS) if file.is_file()]
        elif _is_ratings(path):
            ratings.append(path)
        else:
            runs.append(path)
    return runs, ratings


def expand_folders(paths: Iterable[Path], labels: Path | None = None) -> list[Path]:
    """Return the paths, with the runs and tournaments of a folder in its place."""
    expanded: list[Path] = []
    for path in paths:
        is_folder = path.is_dir() and not (path / RATINGS).is_file()
        inputs = _runs_and_tournaments(path, labels) if is_folder else [path]
        if path.is_dir():
            for file in inputs:
                refuse_links_out(path, [file, *file.glob("*")])
        expanded += inputs
    return expanded


def unfinished_in(paths: Iterable[Path]) -> Iterator[str]:
    """Yield a warning for each run of a folder that only has its journal."""
    for folder in filter(Path.is_dir, paths):
        for journal in sorted(folder.rglob(f"*{JOURNAL}")):
            yield f"{journal}: a run that is not finished: run its command again"


def _runs_and_tournaments(folder: Path, labels: Path | None) -> list[Path]:
    """Return the runs and tournaments below a folder; the report's labels are none of them."""
    if (folder / GAMES).is_file():
        command = f"the command that began it (touche-rad tournament ... -o {folder})"
        raise UserError(f"{folder}: the tournament is not finished; repeat {command}")
    inputs = list(_inputs_below(folder, labels and labels.resolve()))
    if not inputs:
        raise UserError(f"{folder}: expected a folder with runs, or of a tournament with {RATINGS}")
    return inputs


def _inputs_below(folder: Path, labels: Path | None, most: int = 30) -> Iterator[Path]:
    """Yield the inputs of a folder, and of those in it, up to `most` levels."""
    for path in sorted(folder.iterdir()):
        # The files of a bench are the inputs of its runs, which are in the folder of its results.
        if path.is_file() and (folder / _BENCH).is_file():
            continue
        if Path(os.path.realpath(path)) == labels or path.name.startswith("."):
            continue
        if (path / RATINGS).is_file() or _is_ratings(path) or _is_run(path):
            yield path
        elif most and path.is_dir() and not path.is_symlink():
            yield from _inputs_below(path, labels, most - 1)


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
