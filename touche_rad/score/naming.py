"""Short names for runs, told apart by as much of the path as it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from touche_rad.score.result import ALWAYS_YES, MEAN

_ENDINGS = (".gz", ".jsonl", ".json", ".txt", ".run", ".trec")


def names(paths: Sequence[Path]) -> list[str]:
    """Name each run after its file; where two are alike, with folders in front or a number."""
    found = [_stem(path) for path in paths]
    deepest = max((len(path.parts) for path in paths), default=1)
    for depth in range(2, deepest + 1):
        alike = {name for name, count in Counter(found).items() if count > 1}
        found = [
            "/".join((*path.parts[-depth:-1], _stem(path))) if name in alike else name
            for name, path in zip(found, paths, strict=True)
        ]
    return _numbered(found)


def _stem(path: Path) -> str:
    name = path.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return f"./{path.name}" if name in (ALWAYS_YES, MEAN, "") else name


def _numbered(found: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    named = []
    for name in found:
        seen[name] += 1
        named.append(f"{name}#{seen[name]}" if seen[name] > 1 else name)
    return named
