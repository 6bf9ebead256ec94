"""With and without PISA, an index gives the same hits, and either opens what the other wrote.

Where PISA cannot be imported (`make test-portable`), both sides are without it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval.index.analyser import FIELDS
from tests.demo import ARGUMENTS
from tests.records import read_json
from tests.retrieval.small import opened, without_pisa
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import open_index


def _compare(arguments: list[Argument], place: Path, step: int = 1) -> None:
    """The default engine's hits are those of numpy's, and of its folder opened without PISA."""
    queries = list(dict.fromkeys(argument.attacks for argument in arguments))[::step]
    # Long queries, and so many of them that the threads of the engine work at the same time.
    queries += [" ".join(queries[start : start + 9]) for start in range(0, len(queries), 9)] * 9
    default = opened(arguments, place / "default")
    with without_pisa():
        by_numpy = opened(arguments, place / "numpy")
        default_by_numpy = open_index(str(place / "default"))
    for field in FIELDS:
        results = by_numpy.search_all(field, queries, 10)
        assert default_by_numpy.search_all(field, queries, 10) == results
        for expected, hits in zip(default.search_all(field, queries, 10), results, strict=True):
            assert [hit.argument.id for hit in hits] == [hit.argument.id for hit in expected]
            scores = [hit.score for hit in expected]
            assert [hit.score for hit in hits] == pytest.approx(scores, rel=2e-4)


def test_the_demo_is_searched_alike(tmp_path: Path) -> None:
    _compare(list(files.read_arguments(ARGUMENTS)), tmp_path, step=4)


@pytest.mark.long
def test_real_arguments_are_searched_alike(tmp_path: Path, real_data: Path) -> None:
    _compare(list(files.read_arguments(real_data / "claimrev-4441.jsonl.gz")), tmp_path)


def test_an_index_says_what_built_it_and_every_command_opens_it() -> None:
    place = Path("index")
    with without_pisa():
        touche_rad("index", ARGUMENTS, "-o", place)
        assert read_json(place / "manifest.json")["engine"] == "numpy"
        checked = touche_rad("doctor --json -i", place).out
        without = touche_rad('retrieve --say "Zoos harm animals." -i', place)
    (index,) = (check for check in json.loads(checked) if check["what"] == "index")
    assert index["ok"], index
    assert "Zoos" in without.out
    for location in (place, "demo"):  # with PISA
        assert touche_rad('retrieve --say "Zoos harm animals." -i', location) == without
