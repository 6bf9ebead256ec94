"""Combine result lists."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from touche_rad.debate import Hit
from touche_rad.lists import unique


def reciprocal_rank(
    lists: Sequence[Sequence[Hit]], weights: Sequence[float], k: float
) -> list[Hit]:
    """Fuse by reciprocal rank: each list adds weight / (k + rank), ranks counted from 1.

    A list with weight 0 adds nothing, not even hits that no other list has.
    """
    scores: dict[str, float] = {}
    first: dict[str, Hit] = {}
    for hits, weight in zip(lists, weights, strict=True):
        if not weight:
            continue
        for rank, hit in enumerate(hits, 1):
            id_ = hit.argument.id
            scores[id_] = scores.get(id_, 0.0) + weight / (k + rank)
            first.setdefault(id_, hit)
    return ranked([first[id_].replace(score=score) for id_, score in scores.items()])


def ranked(hits: Sequence[Hit]) -> list[Hit]:
    """Sort by score, then id, and set the ranks from 0."""
    ordered = sorted(hits, key=lambda hit: (-hit.score, hit.argument.id))
    return [hit.replace(rank=rank) for rank, hit in enumerate(ordered)]


def best_of(hits: Sequence[Hit]) -> list[Hit]:
    """Keep the best hit of each argument, sorted."""
    return ranked(unique(sorted(hits, key=lambda hit: -hit.score), key=attrgetter("argument.id")))


def scaled(hits: Sequence[Hit]) -> list[Hit]:
    """Divide the scores by the best one, to make lists of several searches comparable."""
    top = max((hit.score for hit in hits), default=0.0)
    if top <= 0:
        return list(hits)
    return [hit.replace(score=hit.score / top) for hit in hits]
