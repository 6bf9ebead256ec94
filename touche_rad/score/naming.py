"""Short unique names for runs, from their paths."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from touche_rad.errors import UserError
from touche_rad.score.result import BASELINE, MEAN
from touche_rad.text import clean, printable

_ENDINGS = (".gz", ".jsonl", ".json", ".txt", ".run", ".trec")


def names(paths: Sequence[Path]) -> list[str]:
    """Name each run after its file; equal names get their folders as a prefix, or a number."""
    alike = defaultdict(list)
    for path in dict.fromkeys(paths):
        alike[_stem(path)].append(path)
    named = {path: name for group in alike.values() for path, name in _with_folders(group).items()}
    return _numbered([named[path] for path in paths])


def baseline_names(
    baselines: Sequence[Path], runs: Sequence[Path], tags: Sequence[str]
) -> list[str]:
    """Return the names of the runs that are baselines."""
    for path in baselines:
        if path not in runs:
            raise UserError(f"the baseline {path} is not one of the runs: add it to the runs")
    return list(dict.fromkeys(tags[list(runs).index(path)] for path in baselines))


def _with_folders(alike: Sequence[Path]) -> dict[Path, str]:
    """Add parent folders until the names differ."""
    deepest = max(len(path.parts) for path in alike)
    named = {path: _stem(path) for path in alike}
    for depth in range(2, deepest + 1):
        if len(set(named.values())) == len(alike):
            break
        named = {path: clean("/".join((*path.parts[-depth:-1], _stem(path)))) for path in alike}
    return named


def _stem(path: Path) -> str:
    name = clean(printable(path.name))
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return f"./{clean(printable(path.name))}" if name in (BASELINE, MEAN, "") else name


def _numbered(alike: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    named = []
    for name in alike:
        seen[name] += 1
        named.append(f"{name}#{seen[name]}" if seen[name] > 1 else name)
    return named
