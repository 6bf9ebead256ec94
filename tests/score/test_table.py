"""The report as a person reads it in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.score.makers import evaluation, labels_file, run_file
from touche_rad.score import score_judgements
from touche_rad.score.tables import Table

YES, NO = (1, 1, 1, 1), (0, 0, 0, 0)


def test_columns_are_aligned_first_left_then_right() -> None:
    assert Table(("", "a", "long"), [("name", "10", "2")]).lines() == [
        "       a  long",
        "name  10     2",
    ]


def test_a_wide_table_is_split_with_each_interval_beside_its_value() -> None:
    wide = Table(["", "F1", "95 %", "kappa"], [["a" * 20, "0.5000", "0.4 to 0.6", "0.1000"]])
    assert wide.lines(40) == [
        "                      F1        95 %",
        "aaaaaaaa…aaaaaaa  0.5000  0.4 to 0.6",
        "",
        "                   kappa",
        "aaaaaaaa…aaaaaaa  0.1000",
    ]


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return labels_file(tmp_path / "labels.jsonl", [[YES, NO], [YES, YES]])


def test_problems_are_shown_with_their_places_and_at_most_three_per_kind(
    truth: Path, tmp_path: Path
) -> None:
    nothing = [(None,) * 4] * 2
    run = run_file(tmp_path / "judge.jsonl", [evaluation(nothing), {}])
    shown = "\n".join(score_judgements([run], truth, samples=100).lines(200))
    assert "the official scorer would give at least one run no score" in shown
    assert "null score: 8, 8 labelled verdicts counted as no" in shown
    assert "  judge: line 1, debate 1, turn 1, quantity: 1 verdict counted as no" in shown
    assert "  and 5 more (--json lists all)" in shown
    assert "lost debate: 1, 8 labelled verdicts counted as no" in shown
