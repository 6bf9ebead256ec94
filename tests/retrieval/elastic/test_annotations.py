"""The argument memory on the server: annotated, gone on with, and read by the debater."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models import scripted
from tests.models.by_schema import answering
from tests.models.scripted import Scripted
from tests.retrieval.test_annotations import annotations, collection, index, remembered
from tests.schemes import ANSWERS, marks
from touche_rad.debaters.rdebater.schemes import Scheme
from touche_rad.plugins import open_index

pytestmark = pytest.mark.services


@pytest.fixture
def model() -> Iterator[Scripted]:
    with scripted.serving() as made:
        answering(made, ANSWERS)
        yield made


def _annotate(source: Path, location: str, model: Scripted, *more: str) -> Any:
    return index(source, Path(), model, "--to", location, *more)


def test_it_knows_what_a_local_memory_knows(location: str, model: Scripted, tmp_path: Path) -> None:
    source = collection(tmp_path, 30)
    assert _annotate(source, location, model).code == 0
    index(source, tmp_path / "local", model)
    here, there = remembered(tmp_path / "local"), remembered(location)
    ids = [one.id for one in open_index(location).arguments()]
    assert len(ids) == 30
    assert there.get_all([*ids, "nobody", ""]) == here.get_all([*ids, "nobody", ""])
    texts = [f"Argument {number} on bees." for number in range(30)]
    causal = [f"{number:04}" for number, text in enumerate(texts) if Scheme.CAUSAL in marks(text)]
    found = annotations(there, ids)
    assert [
        id_ for id_, one in zip(ids, found, strict=True) if Scheme.CAUSAL in one.marks
    ] == causal


def test_what_is_done_is_not_asked_again_and_half_a_memory_is_none(
    location: str, model: Scripted, tmp_path: Path
) -> None:
    source = collection(tmp_path, 130)
    single = ("--annotate", "schemes(per_call=1)")
    stopped = _annotate(source, location, model, *single, "--max-calls", "64")
    assert stopped.code == 1
    assert "run the same command again" in stopped.err
    assert remembered(location) is None
    model.asked.clear()
    ended = _annotate(source, location, model, *single)
    assert (ended.code, len(model.asked)) == (0, 130 - 64), ended.err
    assert "annotated 130 arguments" in ended.err
    model.asked.clear()
    assert "annotated already" in _annotate(source, location, model, *single).err
    other = _annotate(source, location, model, "--annotate", "schemes(per_call=2)")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert not model.asked


def test_another_collection_is_not_annotated(
    location: str, model: Scripted, tmp_path: Path
) -> None:
    _annotate(collection(tmp_path, 3), location, model)
    (tmp_path / "other").mkdir()
    other = _annotate(collection(tmp_path / "other", 4), location, model)
    assert other.code == 2
    assert "contains other arguments" in other.err
