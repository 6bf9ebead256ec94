"""F1."""

from touche_rad.score.measures._counts import Counts
from touche_rad.score.measures.precision import precision
from touche_rad.score.measures.recall import recall


def f1(counts: Counts) -> float:
    """The harmonic mean of precision P and recall R: 2 P R / (P + R)."""
    p, r = precision(counts), recall(counts)
    return 2 * p * r / (p + r) if counts.tp else 0.0
