"""Short names for runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from touche_rad.score.naming import names


@pytest.mark.parametrize(
    ("paths", "wanted"),
    [
        ("/runs/a.jsonl /runs/b.jsonl.gz c.run", "a b c"),
        ("/one/evaluations.jsonl /two/evaluations.jsonl", "one/evaluations two/evaluations"),
        ("/one/x/e.jsonl /two/x/e.jsonl /f.jsonl", "one/x/e two/x/e f"),
        ("/one/e.jsonl /one/e.jsonl", "e e#2"),
        ("e.jsonl /one/e.jsonl", "e one/e"),
        ("a.jsonl a.run", "a a#2"),
        ("always-yes.jsonl mean.run", "./always-yes.jsonl ./mean.run"),
        ("v1.2.jsonl", "v1.2"),
        ("", ""),
    ],
)
def test_names_are_short_and_unique(paths: str, wanted: str) -> None:
    assert names([*map(Path, paths.split())]) == wanted.split()
