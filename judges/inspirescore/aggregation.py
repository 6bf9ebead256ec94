"""The paper's arithmetic: means over rounds, shares over a debate, and the total.

The paper prints no formula for the total; its tables contain the unweighted mean of six dimensions.
R-Debater prints the mean of three under the same name. A missing score is None and is left out of
every mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, TypeAlias

from touche_rad.contest import TIE

SUBJECTIVE: Final = (
    "emotional_appeal",
    "argument_clarity",
    "argument_arrangement",
    "topic_relevance",
)
OBJECTIVE: Final = ("fact_authenticity", "logical_validity")
DIMENSIONS: Final = (*SUBJECTIVE, *OBJECTIVE)

_EQUAL: Final = 1e-9
"""Rounding errors of floats must not decide a debate."""

Scores: TypeAlias = Mapping[str, float | None]
Total = Literal["six_mean", "three_mean"]


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the scores that exist (equation 1, over rounds)."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def share(counted: Iterable[tuple[int, int]]) -> float | None:
    """Return the share over the whole debate (equations 2 and 3), not a mean over rounds.

    Args:
        counted: The number of true items and of all items, for each response.
    """
    pairs = list(counted)
    of = sum(whole for _, whole in pairs)
    return sum(part for part, _ in pairs) / of if of else None


def subjective(scores: Scores) -> float | None:
    """Return the mean of the four judged dimensions."""
    return mean(scores.get(one) for one in SUBJECTIVE)


def objective(scores: Scores) -> float | None:
    """Return the mean of the two checked dimensions."""
    return mean(scores.get(one) for one in OBJECTIVE)


def six_mean(scores: Scores) -> float | None:
    """Return the total of the InspireScore paper."""
    return mean(scores.get(one) for one in DIMENSIONS)


def three_mean(scores: Scores) -> float | None:
    """Return the total of R-Debater: the four judged dimensions count as one."""
    return mean([subjective(scores), *(scores.get(one) for one in OBJECTIVE)])


TOTALS: Final[Mapping[Total, Callable[[Scores], float | None]]] = {
    "six_mean": six_mean,
    "three_mean": three_mean,
}


def winner(scores: Scores, tolerance: float = 0.0) -> str | None:
    """Return the speaker with the highest score, or `tie`; None if a score is missing."""
    known = {name: score for name, score in scores.items() if score is not None}
    if not known or len(known) < len(scores):
        return None
    best = max(known.values())
    first = [name for name, score in known.items() if best - score <= tolerance + _EQUAL]
    return first[0] if len(first) == 1 else TIE


def common(scores: Mapping[str, Scores]) -> tuple[str, ...]:
    """Return the dimensions in which every speaker has a score; totals are compared on these."""
    return tuple(
        one
        for one in DIMENSIONS
        if scores and all(its.get(one) is not None for its in scores.values())
    )
