"""Accuracy, kappa, MCC and macro-F1, against tables worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touche_rad.score import figures, measures
from touche_rad.score.measures import Counts

cells = st.integers(0, 60)
tables = st.builds(Counts, tp=cells, fp=cells, fn=cells, tn=cells)


def test_a_table_by_hand() -> None:
    counts = Counts(tp=20, fp=5, fn=10, tn=15)  # the textbook table: agreed .7, by chance .5
    assert measures.accuracy(counts) == 0.7
    assert measures.kappa(counts) == pytest.approx(0.4)
    # (20 * 15 - 5 * 10) / sqrt(25 * 30 * 20 * 25) = 250 / sqrt(375000)
    assert measures.mcc(counts) == pytest.approx(0.408248290463863)
    assert measures.yes_rate(counts) == 0.5
    assert measures.label_rate(counts) == 0.6
    # precision of yes 20/25, of no 15/25; recall of yes 20/30, of no 15/20
    assert figures.macro(measures.precision, counts) == pytest.approx((20 / 25 + 15 / 25) / 2)
    assert figures.macro(measures.recall, counts) == pytest.approx((20 / 30 + 15 / 20) / 2)
    # F1 of yes 40/55, of no 30/45
    assert figures.macro(measures.f1, counts) == pytest.approx((40 / 55 + 30 / 45) / 2)


@pytest.mark.parametrize(
    ("yes", "no", "f1", "macro_f1"),
    [
        (355, 141, 0.834, 0.417),
        (237, 262, 0.644, 0.322),
        (311, 188, 0.768, 0.384),
        (426, 71, 0.923, 0.462),
    ],
)
def test_always_yes_on_the_shares_of_the_official_development_labels(
    yes: int, no: int, f1: float, macro_f1: float
) -> None:
    counts = Counts(tp=yes, fp=no)
    assert measures.f1(counts) == pytest.approx(f1, abs=0.0006)
    assert figures.macro(measures.f1, counts) == pytest.approx(macro_f1, abs=0.0006)
    assert measures.kappa(counts) == 0.0
    assert measures.mcc(counts) == 0.0


@pytest.mark.parametrize(
    ("counts", "kappa", "mcc"),
    [
        (Counts(tp=3, tn=4), 1.0, 1.0),
        (Counts(fp=3, fn=3), -1.0, -1.0),
        (Counts(tp=5), 0.0, 0.0),
        (Counts(tn=5), 0.0, 0.0),
        (Counts(fp=5), 0.0, 0.0),
        (Counts(), None, None),
    ],
)
def test_the_edges_are_defined(counts: Counts, kappa: float | None, mcc: float | None) -> None:
    assert measures.kappa(counts) == kappa
    assert measures.mcc(counts) == mcc


def test_without_labels_a_measure_is_none_not_zero() -> None:
    for measure in (
        measures.accuracy,
        measures.kappa,
        measures.mcc,
        measures.yes_rate,
        measures.label_rate,
    ):
        assert measure(Counts()) is None
    assert figures.macro(measures.f1, Counts()) is None


@given(tables)
def test_kappa_and_mcc_are_the_textbook_formulas(counts: Counts) -> None:
    total = counts.labelled
    if not total:
        return
    agreed = (counts.tp + counts.tn) / total
    chance = (counts.tp + counts.fp) / total * ((counts.tp + counts.fn) / total)
    chance += (counts.tn + counts.fn) / total * ((counts.tn + counts.fp) / total)
    if not math.isclose(chance, 1):
        assert measures.kappa(counts) == pytest.approx((agreed - chance) / (1 - chance))
    found = measures.mcc(counts)
    assert found is not None
    assert -1 - 1e-9 <= found <= 1 + 1e-9
    assert found == pytest.approx(_correlation(counts))


def _correlation(counts: Counts) -> float:
    """Pearson's correlation of the two answers over the single turns."""
    turns = [(1, 1)] * counts.tp + [(0, 1)] * counts.fp + [(1, 0)] * counts.fn
    turns += [(0, 0)] * counts.tn
    labels, answers = [label for label, _ in turns], [answer for _, answer in turns]
    label_mean, answer_mean = sum(labels) / len(turns), sum(answers) / len(turns)
    both = sum((a - label_mean) * (b - answer_mean) for a, b in turns)
    spread = sum((a - label_mean) ** 2 for a in labels) * sum(
        (b - answer_mean) ** 2 for b in answers
    )
    return both / math.sqrt(spread) if spread > 1e-12 else 0.0


@given(tables)
def test_swapping_yes_and_no_changes_no_agreement(counts: Counts) -> None:
    for figure in (measures.accuracy, measures.kappa, measures.mcc):
        ours, theirs = figure(counts), figure(counts.inverted)
        assert ours == theirs or ours == pytest.approx(theirs)
