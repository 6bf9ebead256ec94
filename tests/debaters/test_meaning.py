"""The debater `grounded` on an index with vectors, and on one whose encoder is not to be had."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest

from tests.debaters.test_sides_of_messages import MESSAGES, count_answers
from tests.debaters.world import debate
from tests.records import read_json
from tests.retrieval.small import add_vectors
from touche_rad.plugins import (
    ExplainedCandidate,
    Services,
    VectorsWanted,
    find,
    open_index,
)

pytestmark = pytest.mark.services

ASKED = "Automobiles ruin the lungs of youngsters downtown."


@pytest.fixture(scope="module")
def place(first_topics: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(first_topics, tmp_path_factory.mktemp("meaning") / "ix"))
    add_vectors(folder, VectorsWanted("minilm"))
    return folder


def _rows(place: Path) -> list[ExplainedCandidate]:
    grounded = find("debater", "grounded").make(Services(index=open_index(str(place))))
    rows: list[ExplainedCandidate] = grounded.explain(debate(ASKED))
    return rows


def test_meaning_finds_and_weighs_candidates(place: Path) -> None:
    rows = _rows(place)
    assert any(set(row.routes) == {"meaning"} for row in rows)
    for row in rows:
        assert row.score == pytest.approx(sum(part.adds for part in row.features.values()))
        assert -1.01 <= row.features["meaning"].value <= 1.01


def test_a_topic_is_found_also_where_no_word_leads_to_it(first_topics: Path, place: Path) -> None:
    by_words = count_answers(MESSAGES, first_topics)
    by_meaning = count_answers(MESSAGES, place)
    assert by_meaning["elsewhere"] < by_words["elsewhere"] / 2
    assert by_meaning["against"] > by_words["against"] + 20


def test_an_encoder_that_is_not_to_be_had_is_done_without(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Path("ix")
    shutil.copytree(place, broken)
    (about,) = broken.rglob("about.json")
    description = read_json(about) | {"encoder": "nowhere-to-be-found"}
    about.write_text(json.dumps(description))
    with caplog.at_level(logging.WARNING, "touche_rad"):
        rows = _rows(broken)
    assert "vectors are not used" in caplog.text
    assert "meaning" not in rows[0].features
