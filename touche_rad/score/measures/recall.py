"""Recall."""

from touche_rad.score.measures._counts import Counts


def recall(counts: Counts) -> float:
    """Of the turns with the label yes, the share with the verdict yes: TP / (TP + FN)."""
    return counts.tp / (counts.tp + counts.fn) if counts.tp else 0.0
