"""Winners out of scores and votes: the paper's arithmetic, without a model."""

from __future__ import annotations

import math
from collections.abc import Mapping

from touche_rad.contest import TIE


def by_score(
    scores: Mapping[str, float | None], *, margin: float = 0, ties: bool = True
) -> str | None:
    """Return who has the highest score.

    Args:
        scores: Each debater's; without all of them there is no winner.
        margin: How far the first two may lie apart and still tie.
        ties: Whether there may be a tie; else, where two are equal, nobody has won.
    """
    known = {name: score for name, score in scores.items() if score is not None}
    if not known or len(known) < len(scores):
        return None
    first, *others = sorted(known, key=lambda name: -known[name])
    if others and known[first] - known[others[0]] <= margin:
        return TIE if ties else None
    return first


def by_votes(
    winners: Mapping[str, str | None], weights: Mapping[str, float], *, ties: bool = True
) -> str | None:
    """Return who wins the dimensions that weigh most; a tied dimension gives nobody its weight."""
    votes: dict[str, float] = {}
    for dimension, winner in winners.items():
        if winner is not None and winner != TIE:
            votes[winner] = votes.get(winner, 0.0) + weights[dimension]
    if not any(winner is not None for winner in winners.values()):
        return None
    best = max(votes.values(), default=0.0)
    leading = [name for name, vote in votes.items() if math.isclose(vote, best)]
    if len(leading) == 1:
        return leading[0]
    return TIE if ties else None


def weighted(scores: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """Return the weighted mean of one debater's scores, without those that could not be had."""
    known = {dimension: score for dimension, score in scores.items() if score is not None}
    whole = sum(weights[dimension] for dimension in known)
    if not whole:
        return None
    return sum(weights[dimension] * score for dimension, score in known.items()) / whole
