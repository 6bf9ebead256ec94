"""How far a judge agrees with people, beyond what the share of yes gives for free.

F1 of "yes" flatters a judge that always says yes. Cohen's kappa and Matthews' correlation are 0
for it. Where a figure has no value, since nothing is labelled, it is None and never 0.
"""

from __future__ import annotations

from math import sqrt

from touche_rad.score.official import Counts


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def accuracy(counts: Counts) -> float | None:
    """The share of labelled turns on which both agree."""
    return _share(counts.tp + counts.tn, counts.labelled)


def label_rate(counts: Counts) -> float | None:
    """The share of labelled turns that people gave a yes."""
    return _share(counts.tp + counts.fn, counts.labelled)


def yes_rate(counts: Counts) -> float | None:
    """The share of labelled turns that the judge gave a yes."""
    return _share(counts.tp + counts.fp, counts.labelled)


def macro_f1(counts: Counts) -> float | None:
    """The mean of the F1 of "yes" and the F1 of "no"."""
    return (counts.f1 + counts.inverted.f1) / 2 if counts.labelled else None


def kappa(counts: Counts) -> float | None:
    """Cohen's kappa: agreement beyond chance, from -1 to 1.

    Where both sides give all turns the same answer, chance alone explains their agreement: 0.
    """
    total = counts.labelled
    if not total:
        return None
    agreed = (counts.tp + counts.tn) * total
    chance = (counts.tp + counts.fp) * (counts.tp + counts.fn)
    chance += (counts.tn + counts.fn) * (counts.tn + counts.fp)
    return (agreed - chance) / (total * total - chance) if total * total > chance else 0.0


def mcc(counts: Counts) -> float | None:
    """Matthews' correlation of labels and predictions, from -1 to 1; 0 where either is constant."""
    if not counts.labelled:
        return None
    predicted = (counts.tp + counts.fp) * (counts.tn + counts.fn)
    labelled = (counts.tp + counts.fn) * (counts.tn + counts.fp)
    if not predicted or not labelled:
        return 0.0
    product = counts.tp * counts.tn - counts.fp * counts.fn
    return product / sqrt(predicted * labelled)
