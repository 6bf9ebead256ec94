"""The runs of a call: short unique names from their paths; one that is wrong stops no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from touche_rad.errors import UserError, nearest
from touche_rad.lists import T
from touche_rad.runs.work import Progress
from touche_rad.score.result import BASELINE, MEAN
from touche_rad.text import clean, printable

S = TypeVar("S")
Runs = Mapping[str, Path] | Sequence[Path]
"""Runs by name, or files, after which they are named."""
_ENDINGS = (".gz", ".jsonl", ".json", ".txt", ".run", ".trec")


def named(runs: Runs) -> Mapping[str, Path]:
    """Return runs by name; equal names of files get their folders as a prefix, or a number."""
    if isinstance(runs, Mapping):
        return runs
    by_stem: dict[str, list[Path]] = {}
    for path in dict.fromkeys(runs):
        by_stem.setdefault(_stem(path), []).append(path)
    name_of: dict[Path, str] = {}
    for stem, group in by_stem.items():
        # As many parent folders as make the names of the group differ.
        for depth in range(max(len(path.parts) for path in group)):
            folders = {path: path.parts[-1 - depth : -1] for path in group}
            if len(set(folders.values())) == len({path.parent for path in group}):
                break
        name_of |= {path: printable(clean("/".join((*folders[path], stem)))) for path in group}
    seen: Counter[str] = Counter()
    numbered = {}
    for path in runs:
        name = name_of[path]
        seen[name] += 1
        numbered[f"{name}#{seen[name]}" if seen[name] > 1 else name] = path
    return numbered


def plugin_of(status: Mapping[str, Any], kind: str) -> str:
    """Return the debater or the judge that a status names, with its model; else empty."""
    identity = status.get("identity", {})
    name = identity.get(kind)
    if not isinstance(name, str):
        return ""
    model = (identity.get("model") or {}).get("name")
    used = status.get("usage") or status.get("resumed")  # a judge may use no model
    return f"{name} with {model}" if model and used else name


def baseline_names(baselines: Sequence[Path], runs: Mapping[str, Path]) -> list[str]:
    """Return the names of the runs that are baselines, which are given as paths or as names."""
    name_of = {Path(name): name for name in runs} | {path: name for name, path in runs.items()}
    for path in baselines:
        if path not in name_of:
            hint = nearest(str(path), map(str, runs.values()))
            raise UserError(f"the baseline {path} is not one of the runs{hint}")
    return list(dict.fromkeys(name_of[path] for path in baselines))


def each_run(
    runs: Mapping[str, S],
    read: Callable[[str, S], T],
    refused: dict[str, str],
    progress: Progress | None = None,
) -> dict[str, T]:
    """Return the result of each run by name; runs with an error are added to `refused`.

    `progress` is called with the numbers of this run and of all runs after each result.

    Raises:
        UserError: No run has a result.
    """
    results: dict[str, T] = {}
    errors: dict[str, UserError] = {}
    for number, (name, run) in enumerate(runs.items(), 1):
        try:
            results[name] = read(name, run)
        except UserError as error:
            errors[name] = error
        else:
            if progress:
                progress(number, len(runs))
    if errors and not results:
        # Nothing is left to score: the first error is raised, with the others as its notes.
        first, *others = errors.values()
        first.__notes__ = [*map(str, others), *refused.values()]
        raise first
    refused.update({name: str(error) for name, error in errors.items()})
    return results


def _stem(path: Path) -> str:
    """Return the name of a file without its endings, unless a row of the reports has that name."""
    file_name = clean(printable(path.name))
    stem = file_name
    for ending in _ENDINGS:
        stem = stem.removesuffix(ending)
    if stem not in (BASELINE, MEAN, ""):
        return stem
    return file_name if stem != file_name else f"./{file_name}"
