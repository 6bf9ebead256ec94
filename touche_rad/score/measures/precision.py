"""Precision."""

from touche_rad.score.measures._counts import Counts


def precision(counts: Counts) -> float:
    """Of the turns with the verdict yes, the share with the label yes: TP / (TP + FP)."""
    return counts.tp / (counts.tp + counts.fp) if counts.tp else 0.0
