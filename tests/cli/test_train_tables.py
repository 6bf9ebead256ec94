"""The tables of `train judge` and `train jury`; a trainer that returns fixed scores stands in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from touche_rad.cli import run
from touche_rad.demo import demo_file

OF_JUDGE = {
    "turns": 60,
    "f1": 0.955,
    "precision": 0.933,
    "recall": 0.977,
    "error": 0.079,
    "always_yes_f1": 0.835,
    "model_free_f1": None,
    "reliability": [],
}
OF_JURY = {
    "turns": 60,
    "abstention": [],
    **{
        name: {"f1": 0.9 - at / 100, "kappa": 0.8 - at / 10}
        for at, name in enumerate(("jury", "equal weights", "best juror", "always yes", "majority"))
    },
}

Train = Callable[..., str]


@pytest.fixture
def train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Train:
    """Return a function: the standard output of `train NAME` if the trainer returns this result."""

    def call(name: str, result: dict[str, Any], *more: str) -> str:
        def trainer(_: str) -> Callable[..., dict[str, Any]]:
            def fit(debates: Path, labels: Path, out: Path, **_: Any) -> dict[str, Any]:
                out.write_text("{}")
                return result

            return fit

        monkeypatch.setattr("touche_rad.plugins.trainer", trainer)
        files = [str(demo_file("debates.jsonl")), str(demo_file("labels.jsonl"))]
        out = str(tmp_path / "weights.json")
        assert run(["train", name, *files, "-o", out, *more]) == 0
        return capsys.readouterr().out

    return call


def rows_of(output: str, title: str) -> dict[str, list[str]]:
    """Return the rows below a heading by their maxims."""
    lines = output[output.index(title) :].splitlines()[1:]
    table = lines[: lines.index("")]
    return {cells[0]: cells[1:] for cells in map(str.split, table)}


def test_train_judge_prints_a_table_with_and_without_the_model(train: Train) -> None:
    better = {**OF_JUDGE, "f1": 0.999}
    output = train(
        "judge",
        {
            "without_model": {"quantity": OF_JUDGE, "manner": OF_JUDGE},
            "with_model": {"quantity": better},
        },
    )
    without = rows_of(output, "without model")
    scores = ["60", "0.955", "0.933", "0.977", "0.079", "0.835", "–"]  # no score: a dash
    assert without == {"quantity": scores, "manner": scores}
    with_model = rows_of(output, "with model")
    assert with_model["quantity"][1] == "0.999"
    assert all(len(line) <= 80 for line in output.splitlines())


def test_train_jury_prints_each_measure_beside_the_baselines(train: Train) -> None:
    output = train("jury", {"how": "fitted on 60 turns", "relation": OF_JURY})
    assert output.startswith("fitted on 60 turns\n")
    f1 = ["60", "0.900", "0.890", "0.880", "0.870", "0.860"]
    kappa = ["60", "0.800", "0.700", "0.600", "0.500", "0.400"]
    assert rows_of(output, "F1 ") == {"relation": f1}
    assert rows_of(output, "kappa ") == {"relation": kappa}
    assert all(len(line) <= 80 for line in output.splitlines())


@pytest.mark.parametrize("name", ["judge", "jury"])
def test_json_has_the_whole_result_instead_of_tables(train: Train, name: str) -> None:
    given = {"how": "fitted", "relation": OF_JURY} if name == "jury" else {"with_model": {}}
    output = train(name, given, "--json")
    assert json.loads(output) == given
