"""What the trainings on a collection are begun with, and what a person is told before."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from retrieval.stance.training import Recipe as StanceRecipe
from tests.retrieval.trainings import DEMO
from touche_rad.cli.train import train_command
from touche_rad.errors import UserError

ADVICE = "note: --precision bfloat16 is faster on this processor (auto uses it on a GPU only)\n"


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A processor that has bfloat16, and no card."""
    import torch

    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return monkeypatch


def _said(out: Path, *words: str) -> Result:
    """Begin a training that ends where its base is looked for."""
    told = ["stance", str(DEMO), "-o", str(out), "--base", "nowhere", *words]
    return CliRunner().invoke(train_command, told)


@pytest.mark.services
def test_it_is_said_that_bfloat16_is_quicker_where_the_processor_has_it(
    processor: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert _said(tmp_path / "out").stderr == ADVICE
    assert _said(tmp_path / "out", "-q").stderr == ""


@pytest.mark.services
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_who_chose_a_precision_gets_no_advice(
    precision: str, processor: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert _said(tmp_path / "out", "--precision", precision).stderr == ""


@pytest.mark.services
@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("cuda", "is_available", lambda: True),
        ("cpu", "_is_avx512_bf16_supported", lambda: False),
        ("cpu", "_is_avx512_bf16_supported", None),
    ],
)
def test_there_is_no_advice_with_a_card_without_bfloat16_or_where_torch_cannot_be_asked(
    place: str, name: str, value: Any, processor: pytest.MonkeyPatch
) -> None:
    import torch

    where = getattr(torch, place)
    if value is None:
        processor.delattr(where, name)
    else:
        processor.setattr(where, name, value)
    assert StanceRecipe(base="b").advice is None


@pytest.mark.services
def test_without_torch_it_is_the_training_that_says_what_it_needs(
    processor: pytest.MonkeyPatch,
) -> None:
    processor.setitem(sys.modules, "torch", None)
    assert StanceRecipe(base="b").advice is None


@pytest.mark.parametrize("trained", ["stance", "encoder"])
def test_what_is_missing_is_said_in_one_line(
    trained: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch", "sentence_transformers", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    ended = CliRunner().invoke(train_command, [trained, str(DEMO), "-o", str(tmp_path / "model")])
    assert isinstance(ended.exception, UserError)
    assert str(ended.exception) == (
        f"train {trained} needs sentence-transformers: pip install 'touche-rad[dense]'"
    )
