"""Accuracy."""

from touche_rad.score.measures._counts import Counts


def accuracy(counts: Counts) -> float | None:
    """The share of turns on which judge and label agree: (TP + TN) / all."""
    return (counts.tp + counts.tn) / counts.labelled if counts.labelled else None
