"""The panel: what the columns found, brought together into one verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judges.debatrix.column import Found
from judges.debatrix.questions import Mark, Questions, Ruling
from judges.debatrix.verdicts import by_votes, weighted
from touche_rad.models import ModelError


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
