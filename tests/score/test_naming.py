"""Short names for runs."""

from __future__ import annotations

from pathlib import Path

from tests.cases import with_cases
from touche_rad.score.naming import named


@with_cases(("paths", "wanted"), "score/names_of_paths.tsv")
def test_names_are_short_and_unique(paths: str, wanted: str) -> None:
    assert list(named([*map(Path, paths.split())])) == wanted.split()
