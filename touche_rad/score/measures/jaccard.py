"""Jaccard similarity of two annotators' labels."""

from collections.abc import Sequence
from statistics import fmean


def jaccard(pairs: Sequence[tuple[frozenset[str], frozenset[str]]]) -> float:
    """The mean of |A ∩ B| / |A ∪ B| over the texts; 1 where neither annotator gave a label."""
    return fmean(len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs)
