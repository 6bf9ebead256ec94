"""Short names for runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.records import read_table
from touche_rad.score.naming import named


@pytest.mark.parametrize(
    ("paths", "wanted"),
    read_table("score/names_of_paths.tsv"),
)
def test_names_are_short_and_unique(paths: str, wanted: str) -> None:
    assert list(named([*map(Path, paths.split())])) == wanted.split()
