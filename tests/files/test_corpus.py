"""Every reader reads every file of the fuzzing corpus, or refuses it with one of our errors."""

from __future__ import annotations

import pytest

from benchmarks.fuzz import CORPUS, readers, replay


@pytest.mark.parametrize("name", readers())
def test_a_reader_survives_the_corpus(name: str) -> None:
    assert replay([name]) == len(list(CORPUS.iterdir()))
