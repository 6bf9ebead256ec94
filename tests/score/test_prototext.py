"""TIRA's evaluation.prototext, letter by letter."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.score.makers import evaluation, labels_file, run_file
from touche_rad.score import Policy, export, score_judgements

EXPECTED = Path(__file__).with_name("evaluation.prototext").read_text("utf-8")


@pytest.fixture
def run_and_truth() -> tuple[Path, Path]:
    """Quantity 2 of 3 right, Quality none, Relation one of three found, Manner without labels."""
    labels = [[(1, 0, 1, None), (1, 1, 1, None), (0, 0, 1, None)]]
    scores = [(1, 1, 1, 1), (1, 0, 0, 1), (1, 1, 0, 1)]
    truth = labels_file("labels.jsonl", labels)
    return run_file("judge.jsonl", [evaluation(scores)]), truth


@pytest.mark.parametrize("strict", [True, False])
def test_the_file_is_the_official_one(strict: bool, run_and_truth: tuple[Path, Path]) -> None:
    run, truth = run_and_truth
    report = score_judgements([run], truth, policy=Policy(strict=strict), samples=100)
    export(report, Path())
    assert Path("evaluation.prototext").read_text("utf-8") == EXPECTED


def test_a_report_is_exported_for_each_of_its_runs(run_and_truth: tuple[Path, Path]) -> None:
    """Names that make the same file name overwrite nothing."""
    run, truth = run_and_truth
    runs = [Path(shutil.copy(run, name)) for name in ("a b.jsonl", "a&b.jsonl")]
    paths = export(score_judgements(runs, truth, samples=100), Path())
    names = ["a_b/evaluation.prototext", "a_b_/evaluation.prototext"]
    assert [path.as_posix() for path in paths] == names
