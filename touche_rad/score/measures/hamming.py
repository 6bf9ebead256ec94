"""Hamming distance of two annotators' labels."""

from collections.abc import Sequence


def hamming(pairs: Sequence[tuple[frozenset[str], frozenset[str]]], labels: Sequence[str]) -> float:
    """The share of all pairs of a text and a label on which the annotators differ."""
    return sum(len(a ^ b) for a, b in pairs) / (len(pairs) * len(labels))
