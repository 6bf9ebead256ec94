"""The official figures, against tables counted by hand and against the formula written anew."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touche_rad.score.measures import Counts, count, f1, precision, recall, says_yes

labels = st.sampled_from([0, 1, None])
scores = st.one_of(
    st.none(), st.floats(0, 1), st.sampled_from([0.5, 0.49999999999999994, 0.0, 1.0, 7.5, -1.0])
)


@dataclass
class Tally:
    """The contract's section 2.5, written a second time as plainly as can be."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    def add(self, label: int | None, score: float | None) -> None:
        if label is None:
            return
        predicted = 1 if score is not None and score >= 0.5 else 0
        if label == 1 and predicted == 1:
            self.tp = self.tp + 1
        elif label == 0 and predicted == 1:
            self.fp = self.fp + 1
        elif label == 1:
            self.fn = self.fn + 1

    def figures(self) -> tuple[float, float, float]:
        if self.tp == 0:
            return 0, 0, 0
        precision = self.tp / (self.tp + self.fp)
        recall = self.tp / (self.tp + self.fn)
        return precision, recall, 2 * precision * recall / (precision + recall)


@given(st.lists(st.tuples(labels, scores), max_size=200))
def test_the_formula_written_anew_gives_the_same_last_digit(
    pairs: list[tuple[int | None, float | None]],
) -> None:
    tally = Tally()
    for label, score in pairs:
        tally.add(label, score)
    counts = count(pairs)
    assert (precision(counts), recall(counts), f1(counts)) == tally.figures()
    assert counts.labelled == sum(label is not None for label, _ in pairs)


def test_counted_by_hand() -> None:
    pairs = [(1, 0.5), (1, 0.9), (1, 0.49), (0, 1.0), (0, 0.0), (None, 1.0), (None, 0.0), (1, 0.7)]
    counts = count(pairs)
    assert counts == Counts(tp=3, fp=1, fn=1, tn=1)
    assert (precision(counts), recall(counts), f1(counts)) == (0.75, 0.75, 0.75)


@pytest.mark.parametrize(
    ("counts", "p", "r", "harmonic"),
    [
        (Counts(tp=1, fp=3, fn=0), 0.25, 1.0, 0.4),
        (Counts(tp=2, fp=0, fn=6), 1.0, 0.25, 0.4),
        (Counts(tp=1, fp=2, fn=0), 1 / 3, 1.0, 0.5),
        (Counts(fp=5, fn=2, tn=1), 0.0, 0.0, 0.0),
        (Counts(tn=9), 0.0, 0.0, 0.0),
        (Counts(), 0.0, 0.0, 0.0),
    ],
)
def test_tables_by_hand(counts: Counts, p: float, r: float, harmonic: float) -> None:
    assert (precision(counts), recall(counts), f1(counts)) == (p, r, harmonic)


@pytest.mark.parametrize(
    ("score", "yes"),
    [(0.5, True), (0.49999999999999994, False), (None, False), (7.5, True), (float("nan"), False)],
)
def test_the_threshold_is_one_half(score: float | None, yes: bool) -> None:
    assert says_yes(score) is yes


@given(st.integers(1, 500), st.integers(0, 500))
def test_always_yes_has_recall_1_and_the_share_of_yes_as_precision(yes: int, no: int) -> None:
    counts = count([(1, 1.0)] * yes + [(0, 1.0)] * no)
    share = yes / (yes + no)
    assert recall(counts) == 1.0
    assert precision(counts) == share
    assert f1(counts) == pytest.approx(2 * share / (1 + share))


def test_inverted_makes_no_the_positive_class() -> None:
    counts = count([(1, 1.0), (0, 1.0), (0, 0.0), (0, 0.0), (1, 0.0)])
    assert counts.inverted == count([(0, 0.0), (1, 0.0), (1, 1.0), (1, 1.0), (0, 1.0)])
