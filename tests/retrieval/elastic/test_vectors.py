"""Vectors on the server: encoded once, gone on with, and what they tell of meaning."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retrieval.dense.encoders import Vectors
from retrieval.elastic._arguments import ElasticArguments
from retrieval.elastic._vectors import add_vectors
from tests.debaters.world import debate
from tests.retrieval.elastic.servers import Server
from tests.retrieval.small import BEES
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.plugins import Services, VectorsWanted, build_index, find, open_index
from touche_rad.plugins import add_vectors as add_by_name

pytestmark = pytest.mark.services

DEMO = Path(__file__).parent.parent.parent.parent / "touche_rad/demo/arguments.jsonl"


class Letters:
    """An encoder that counts letters, notes what it is given, and may die."""

    name = "letters"

    def __init__(self, dies_after: int = 10**9) -> None:
        self.given: list[str] = []
        self._left = dies_after

    def queries(self, texts: Sequence[str]) -> Vectors:
        counts = [[float(text.lower().count(one)) for one in "abcdefghi"] + [1.0] for text in texts]
        vectors = np.array(counts, dtype=np.float32)
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def passages(self, texts: Sequence[str]) -> Vectors:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        self.given += texts
        return self.queries(texts)


def _add(location: str, encoder: Letters, *fields: str) -> int:
    return add_vectors(_opened(location), encoder, VectorsWanted("letters", fields), None)


def _opened(location: str) -> ElasticArguments:
    index = open_index(location)
    assert isinstance(index, ElasticArguments)
    return index


def test_what_is_encoded_is_not_encoded_again(location: str) -> None:
    build_index(BEES, location)
    first, further, none = Letters(), Letters(), Letters()
    assert _add(location, first, "text") == len(BEES)
    assert _add(location, further, "attacks", "text", "supports") == 2 * len(BEES)
    assert _add(location, none, "text", "attacks", "supports") == 0
    assert first.given == [one.text for one in BEES]
    assert further.given == [
        *dict.fromkeys(one.attacks for one in BEES),
        *dict.fromkeys(one.supports for one in BEES),
    ]
    assert none.given == []
    index = _opened(location)
    for field in ("text", "attacks", "supports"):
        for argument in BEES:
            asked = Letters().queries([getattr(argument, field)])
            ((best, cosine), *_) = index.nearest("letters", field, asked, 3)[0]
            assert getattr(index.get(best), field) == getattr(argument, field)
            assert cosine == pytest.approx(1.0, abs=0.001)


def test_a_killed_encoding_is_resumed_after_its_last_field(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.elastic._arguments.PAGE", 2)
    build_index(BEES, location)
    with pytest.raises(KeyboardInterrupt):
        _add(location, Letters(dies_after=4), "text", "attacks")
    with pytest.raises(UserError, match="has no vectors of the field 'attacks'"):
        _opened(location).nearest("letters", "attacks", Letters().queries(["bees"]), 3)
    again = Letters()
    assert _add(location, again, "text", "attacks") == len(BEES)
    assert set(again.given) == {one.attacks for one in BEES}
    index = _opened(location)
    for field in ("text", "attacks"):
        found = index.nearest("letters", field, Letters().queries(["bees"]), 10)[0]
        assert {one for one, _ in found} == {one.id for one in BEES}


def test_a_field_that_is_blank_everywhere_has_vectors_all_the_same(location: str) -> None:
    build_index([Argument(id=str(n), text=f"bee {'b' * n}") for n in range(4)], location)
    _add(location, Letters(), "text", "attacks")
    none = Letters()
    assert _add(location, none, "attacks") == 0
    index = _opened(location)
    asked = Letters().queries(["bee", "hive"])
    assert index.nearest("letters", "attacks", asked, 3) == [[], []]
    assert index.likeness("letters", "attacks", asked, ["0", "1"]) == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("parts", ["1", "3"])
def test_likeness_is_the_product_of_the_vectors(
    location: str, monkeypatch: pytest.MonkeyPatch, parts: str
) -> None:
    monkeypatch.setattr("retrieval.elastic._arguments.PAGE", 4)
    odd = [*BEES, Argument(id="ü/?", text="Bees hum."), Argument(id="blank", text=" ")]
    build_index(odd, location, options={"shards": parts})
    _add(location, Letters(), "text", "attacks", "supports")
    index, letters = _opened(location), Letters()
    ids = ["blank", *(one.id for one in reversed(odd[:-1])), "1", "nobody"]
    asked = letters.queries(["Wild bees belong in gardens.", "zzz", "Night trains"])
    found = index.likeness("letters", "text", asked, ids)
    by_id = {one.id: one for one in odd}
    for row, query in zip(found, asked, strict=True):
        held = [
            float(query @ letters.queries([by_id[one].text])[0])
            if one in by_id and one != "blank"
            else 0.0
            for one in ids
        ]
        assert row == pytest.approx(held, abs=0.001)
    assert index.likeness("letters", "text", asked, []) == [[], [], []]


@pytest.fixture(scope="module")
def minilm(server: Server) -> str:
    """The demo with vectors of all fields."""
    location = server.location("demo-minilm")
    build_index(files.read_arguments(DEMO), location, replace=True)
    for fields in (("text",), ("text", "attacks", "supports")):
        add_by_name(location, VectorsWanted("minilm", fields))
    return location


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same in a folder."""
    folder = str(tmp_path_factory.mktemp("here") / "ix")
    build_index(files.read_arguments(DEMO), folder)
    add_by_name(folder, VectorsWanted("minilm"))
    return folder


ASKED = "Automobiles poison the air that children breathe, so downtown must be without them."


def test_both_homes_mean_the_same(minilm: str, here: str) -> None:
    there: Any = open_index(minilm)
    local: Any = open_index(here)
    texts = [ASKED, "Zoos are cruel.", "☃", "\ud800"]
    ids = [one.id for one in local.arguments()][::7]
    for field in ("text", "attacks", "supports"):
        ours, theirs = (one.meaning.likeness(field, texts, ids) for one in (local, there))
        for one, other in zip(ours, theirs, strict=True):
            assert other == pytest.approx(one, abs=0.003)
        near, also = (one.meaning.nearest(field, texts, 20) for one in (local, there))
        shared = [len(set(one) & set(other)) for one, other in zip(near, also, strict=True)]
        assert sum(shared) >= 0.9 * 20 * len(texts)


def test_the_debater_grounded_uses_the_meaning(minilm: str, here: str) -> None:
    said = debate(ASKED)
    rows, local = (
        find("debater", "grounded").make(Services(index=open_index(place))).explain(said)
        for place in (minilm, here)
    )
    assert all("meaning" in row.features for row in rows)
    assert any(set(row.routes) == {"meaning"} for row in rows)
    chosen, chosen_here = ([row.id for row in some[:10]] for some in (rows, local))
    assert len(set(chosen) & set(chosen_here)) >= 7
    assert chosen[0] in chosen_here[:3]


def test_vectors_of_some_fields_or_without_their_encoder_are_done_without(
    location: str, caplog: pytest.LogCaptureFixture
) -> None:
    build_index(BEES, location)
    _add(location, Letters(), "attacks")
    said = debate("Bees belong in town.")
    with caplog.at_level(logging.WARNING, "touche_rad"):
        index: Any = open_index(location)
        assert index.meaning is None
    assert "vectors are not used: they do not cover" in caplog.text
    caplog.clear()
    _add(location, Letters(), "text", "supports")
    with caplog.at_level(logging.WARNING, "touche_rad"):
        index = open_index(location)
        rows = find("debater", "grounded").make(Services(index=index)).explain(said)
    assert (
        "the index's vectors are not used: there is no encoder or folder 'letters'" in caplog.text
    )
    assert "meaning" not in rows[0].features
