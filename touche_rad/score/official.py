"""The official figures: precision, recall and F1 of "yes", over all labelled turns at once.

A score of 0.5 and more means yes. Turns without a label are left out. Each figure is 0 where there
is no true positive. The arithmetic keeps the official scorer's order of operations, so that the
last digit agrees too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

YES = 0.5


def says_yes(score: float | None) -> bool:
    """Whether a score means yes; a verdict that is missing means no."""
    return score is not None and score >= YES


@dataclass(frozen=True)
class Counts:
    """How often prediction and label agreed: true and false positives and negatives."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @property
    def labelled(self) -> int:
        """The number of labelled turns."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def precision(self) -> float:
        """Of the turns predicted yes, the share labelled yes."""
        return self.tp / (self.tp + self.fp) if self.tp else 0.0

    @property
    def recall(self) -> float:
        """Of the turns labelled yes, the share predicted yes."""
        return self.tp / (self.tp + self.fn) if self.tp else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        precision, recall = self.precision, self.recall
        return 2 * precision * recall / (precision + recall) if self.tp else 0.0

    @property
    def inverted(self) -> Counts:
        """The same table with "no" as the positive class."""
        return Counts(tp=self.tn, fp=self.fn, fn=self.fp, tn=self.tp)


def count(pairs: Iterable[tuple[int | None, float | None]]) -> Counts:
    """Count (label, score) pairs; those without a label are left out."""
    cells = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for label, score in pairs:
        if label is not None:
            cells[label == 1, says_yes(score)] += 1
    return Counts(
        tp=cells[True, True],
        fp=cells[False, True],
        fn=cells[True, False],
        tn=cells[False, False],
    )
