"""A training on a collection says in one line what is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.retrieval.trainings import DEMO
from touche_rad.cli.train import train_command
from touche_rad.errors import UserError


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
