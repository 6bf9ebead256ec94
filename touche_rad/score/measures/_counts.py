"""The table of labels and verdicts that most measures are computed from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

YES = 0.5


def says_yes(score: float | None) -> bool:
    """Whether a score means yes; a missing score means no."""
    return score is not None and score >= YES


@dataclass(frozen=True)
class Counts:
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

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn
        )


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
