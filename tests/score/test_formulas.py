"""The measures of verdicts, against tables worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cases import with_cases
from touche_rad.score import confusion, measures
from touche_rad.score.measures import Counts, f1, precision, recall, says_yes


@pytest.mark.parametrize(
    ("score", "yes"),
    [(0.5, True), (0.49999999999999994, False), (None, False), (7.5, True), (float("nan"), False)],
)
def test_the_threshold_is_one_half(score: float | None, yes: bool) -> None:
    assert says_yes(score) is yes


OFFICIAL = f"""
3 1 1 1  0.75 0.75 0.75
1 3 0 0  0.25 1.0  0.4
2 0 6 0  1.0  0.25 0.4
1 2 0 0  {1 / 3} 1.0  0.5
0 5 2 1  0.0  0.0  0.0
0 0 0 9  0.0  0.0  0.0
0 0 0 0  0.0  0.0  0.0
"""
"""True and false positives, false and true negatives; precision, recall and F1."""


@pytest.mark.parametrize("row", OFFICIAL.strip().splitlines())
def test_the_official_measures(row: str) -> None:
    *cells, p, r, harmonic = map(float, row.split())
    counts = Counts(*map(int, cells))
    assert precision(counts) == p
    assert recall(counts) == r
    assert f1(counts) == harmonic


def test_the_other_measures() -> None:
    counts = Counts(tp=20, fp=5, fn=10, tn=15)  # the textbook table: agreed .7, by chance .5
    table = np.array([[15.0, 5], [10, 20]])
    assert 1 - confusion.distance(table, 1 - np.eye(2)) == pytest.approx(0.7)
    assert confusion.kappa(table, 1 - np.eye(2)) == pytest.approx(0.4)
    # (20 * 15 - 5 * 10) / sqrt(25 * 30 * 20 * 25) = 250 / sqrt(375000)
    assert measures.mcc(counts) == pytest.approx(0.408248290463863)
    assert measures.yes_rate(counts) == 0.5
    assert measures.label_rate(counts) == 0.6
    # precision of yes 20/25, of no 15/25; recall of yes 20/30, of no 15/20
    assert measures.macro(precision, counts) == pytest.approx((20 / 25 + 15 / 25) / 2)
    assert measures.macro(recall, counts) == pytest.approx((20 / 30 + 15 / 20) / 2)
    # F1 of yes 40/55, of no 30/45
    assert measures.macro(f1, counts) == pytest.approx((40 / 55 + 30 / 45) / 2)


@with_cases(("cells", "kappa", "mcc"), "score/the_edges_of_kappa_and_mcc.json")
def test_the_edges_of_kappa_and_mcc(cells: str, kappa: float | None, mcc: float | None) -> None:
    counts = Counts(*map(int, cells.split()))
    table = np.array([[counts.tn, counts.fp], [counts.fn, counts.tp]])
    assert confusion.kappa(table, 1 - np.eye(2)) == pytest.approx(kappa or 0)
    assert measures.mcc(counts) == mcc
