"""What is true of each training on a collection; a module of tests inherits it for its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from retrieval._tasks import split_of
from tests.retrieval.trainings import DEMO, Training, metrics, report
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.errors import UserError
from touche_rad.plugins import trainer


class TrainerTests:
    """The fixtures are the module's: a collection, a tiny base, and a model trained from both."""

    training: ClassVar[Training]
    use: ClassVar[str]
    """How a person is told to use the model."""
    fewest: ClassVar[int]
    """The least batch."""

    @pytest.mark.services
    def test_what_is_left_is_a_model_its_metrics_and_its_report(
        self, spoken: Path, trained: Path
    ) -> None:
        told, arguments = report(trained), list(files.read_arguments(spoken))
        assert told["tested_on"] == sum(split_of(one.topic) == "test" for one in arguments)
        assert told["trained_on"] + told["tested_on"] == len(arguments)
        rows = metrics(trained)
        assert [row["step"] for row in rows] == list(range(1, told["steps"] + 1))
        assert rows[-1]["loss"] < rows[0]["loss"]
        assert not (trained / "checkpoints").exists()

    @pytest.mark.services
    def test_the_card_tells_data_by_digest_and_settings(self, trained: Path) -> None:
        card, told = (trained / "README.md").read_text(), report(trained)
        assert f"| `arguments.jsonl` | 240 | `{told['collection']}` |" in card
        assert f"| rate | {self.training.settings['rate']} |" in card
        assert "sentence-transformers " in card

    @pytest.mark.services
    def test_a_finished_one_tells_its_report_and_another_is_refused(
        self, spoken: Path, trained: Path, tiny: Path
    ) -> None:
        again = self.training.said("-o", trained, source=spoken, base=tiny)
        assert again.code == 0, again.err
        assert json.loads(again.out) == {**report(trained), "resumed": True}
        assert self.use.format(trained) in again.err
        assert "note:" not in again.err
        with pytest.raises(UserError, match="another seed: 0, now 7"):
            self.training.train(spoken, trained, tiny, seed=7)
        assert report(trained)["recipe"]["seed"] == 0

    @pytest.mark.services
    def test_a_base_that_is_stored_in_half_precision_learns_in_whole(
        self, spoken: Path, half: Path, tmp_path: Path
    ) -> None:
        self.training.train(spoken, tmp_path / "out", half, epochs=2)
        assert {str(one.dtype) for one in _weights(half)} == {"torch.float16"}
        assert {str(one.dtype) for one in _weights(tmp_path / "out")} == {"torch.float32"}
        assert all(one.isfinite().all() for one in _weights(tmp_path / "out"))

    @pytest.mark.parametrize(("option", "value"), [("--rate", "0"), ("--layers", "-1")])
    def test_an_impossible_value_is_refused_and_nothing_is_written(
        self, option: str, value: str, tmp_path: Path
    ) -> None:
        self._refused(option, value, tmp_path / "out")
        self._refused("--batch", str(self.fewest - 1), tmp_path / "out")

    def test_what_is_missing_is_said_in_one_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("torch", "sentence_transformers", "transformers"):
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(UserError, match="needs sentence-transformers: pip install"):
            trainer(self.training.name)(DEMO, tmp_path / "out", base="minilm")

    def _refused(self, option: str, value: str, out: Path) -> None:
        ran = touche_rad("train", self.training.name, DEMO, "-o", out, option, value)
        assert (ran.code, option.strip("-") in ran.err) == (2, True)
        assert not out.exists()


def _weights(model: Path) -> list[Any]:
    from safetensors.torch import load_file

    return list(load_file(model / "model.safetensors").values())
