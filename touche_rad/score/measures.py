"""The measures of verdicts and of annotators, each with its formula.

Precision, recall and F1 follow the official scorer step by step, so that the last digit agrees: a
score of at least 0.5 means yes, a missing verdict means no, turns without a label are left out, and
a measure is 0 if there is no true positive. F1 of "yes" rewards a judge that always says yes; kappa
and Matthews' correlation are 0 for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from math import sqrt
from statistics import fmean
from typing import Final, NamedTuple


def mean(values: Collection[float]) -> float | None:
    """The mean, or the share of what is true; None without any value."""
    return fmean(values) if values else None


CORRELATIONS = ("pearson", "spearman", "kendall")


def says_yes(score: float | None) -> bool:
    """Whether a score means yes; a missing score means no."""
    return score is not None and score >= 0.5


class Counts(NamedTuple):
    """True and false positives and negatives."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @property
    def labelled(self) -> int:
        """The number of labelled turns."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def inverted(self) -> Counts:
        """The same table with "no" as the positive class."""
        return Counts(tp=self.tn, fp=self.fn, fn=self.fp, tn=self.tp)


def precision(counts: Counts) -> float:
    """Of the turns with the verdict yes, the share with the label yes: TP / (TP + FP)."""
    return counts.tp / (counts.tp + counts.fp) if counts.tp else 0.0


def recall(counts: Counts) -> float:
    """Of the turns with the label yes, the share with the verdict yes: TP / (TP + FN)."""
    return counts.tp / (counts.tp + counts.fn) if counts.tp else 0.0


def f1(counts: Counts) -> float:
    """The harmonic mean of precision P and recall R: 2 P R / (P + R)."""
    p = precision(counts)
    r = recall(counts)
    return 2 * p * r / (p + r) if counts.tp else 0.0


def macro(measure: Callable[[Counts], float], counts: Counts) -> float | None:
    """The mean of a measure of "yes" and the same measure of "no"."""
    return (measure(counts) + measure(counts.inverted)) / 2 if counts.labelled else None


def yes_rate(counts: Counts) -> float | None:
    """The share of labelled turns with the verdict yes: (TP + FP) / all."""
    return (counts.tp + counts.fp) / counts.labelled if counts.labelled else None


def label_rate(counts: Counts) -> float | None:
    """The share of labelled turns with the label yes: (TP + FN) / all."""
    return (counts.tp + counts.fn) / counts.labelled if counts.labelled else None


def mcc(counts: Counts) -> float | None:
    """Matthews' correlation of labels and verdicts, from -1 to 1; 0 if either is constant.

    (TP TN - FP FN) / sqrt((TP + FP) (TN + FN) (TP + FN) (TN + FP)), Matthews 1975.
    """
    if not counts.labelled:
        return None
    predicted = (counts.tp + counts.fp) * (counts.tn + counts.fn)
    labelled = (counts.tp + counts.fn) * (counts.tn + counts.fp)
    if not predicted or not labelled:
        return 0.0
    return (counts.tp * counts.tn - counts.fp * counts.fn) / sqrt(predicted * labelled)


OFFICIAL: Final[Mapping[str, Callable[[Counts], float]]] = {
    "precision": precision,
    "recall": recall,
    "f1": f1,
}
FORMULAS: Final[Mapping[str, Callable[[Counts], float | None]]] = {
    **OFFICIAL,
    **{f"macro_{name}": partial(macro, of_yes) for name, of_yes in OFFICIAL.items()},
    "mcc": mcc,
    "yes_rate": yes_rate,
    "label_rate": label_rate,
}
"""The measures of verdicts, each by the field of `JudgementRow` that has it."""


def correlations(grades: Sequence[float], gold: Sequence[float]) -> dict[str, float | None]:
    """Pearson, Spearman and Kendall's tau-b by scipy; None if one of the series is constant."""
    if len(grades) < 3 or len(set(grades)) < 2 or len(set(gold)) < 2:
        return dict.fromkeys(CORRELATIONS)
    from scipy import stats

    measures = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    return {
        name: float(measure(grades, gold).statistic)
        for name, measure in zip(CORRELATIONS, measures, strict=True)
    }
