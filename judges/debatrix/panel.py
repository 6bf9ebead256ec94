"""The panel: dimensional verdicts combined into one, and the paper's arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from judges.debatrix.column import Found
from judges.debatrix.questions import Mark, Questions, Ruling
from touche_rad.contest import TIE
from touche_rad.models import ModelError


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


def seen(found: Sequence[Found]) -> list[Found]:
    """Return the columns that have a view of the debate."""
    return [one for one in found if one.analysis]


async def summary(chair: Questions, found: Sequence[Found]) -> tuple[str, Ruling]:
    """One systematic analysis of all columns, and the verdict on it."""
    try:
        analysis, ruling = await chair.summary([
            {"name": one.dimension.name, "weight": one.dimension.weight, "text": one.analysis}
            for one in seen(found)
        ])  # fmt: skip
        return analysis, ruling or await chair.ruling(analysis)
    except ModelError as error:
        return "", Ruling(reason=f"the panel: {error}")


async def discussion(
    chair: Questions, asked: Mapping[str, Questions], found: Sequence[Found], rounds: int
) -> tuple[str, Ruling]:
    """The columns speak in turn, each knowing what was said; the verdict is on what they said."""
    said: list[dict[str, Any]] = []
    for _ in range(rounds):
        for one in seen(found):
            dimension = one.dimension
            try:
                text = await asked[dimension.name].statement(one.analysis, said)
            except ModelError:
                text = one.analysis
            said.append({"name": dimension.name, "weight": dimension.weight, "text": text})
    analysis = "\n\n".join(
        f"{one['name']} (weight {one['weight']:g}): {one['text']}" for one in said
    )
    try:
        return analysis, await chair.ruling(analysis)
    except ModelError as error:
        return analysis, Ruling(reason=f"the panel: {error}")


def counted(found: Sequence[Found], codes: Sequence[str], *, ties: bool) -> Ruling:
    """A verdict without a panel: the dimensions' own, weighed."""
    weights = {one.dimension.name: one.dimension.weight for one in found}
    winners = {one.dimension.name: one.ruling.winner for one in found if one.ruling}
    marks = {}
    for code in codes:
        scores = {
            one.dimension.name: one.ruling.marks[code].score
            for one in found
            if one.ruling and code in one.ruling.marks
        }
        mean = weighted(scores, weights)
        marks[code] = Mark(score=None if mean is None else round(mean, 6))
    winner = by_votes(winners, weights, ties=ties)
    return Ruling(marks, winner, reason="" if winner else "the dimensions have no winner")
