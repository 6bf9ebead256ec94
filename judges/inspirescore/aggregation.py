"""The paper's arithmetic: means over rounds, shares over a debate, and one figure of all.

The paper prints no formula for the figure of all; its tables have the unweighted mean of six
dimensions. R-Debater prints the mean of three under the same name. What could not be had is None
and stays out of every mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, TypeAlias

from touche_rad.contest import TIE

SUBJECTIVE: Final = (
    "emotional_appeal", "argument_clarity", "argument_arrangement", "topic_relevance",
)  # fmt: skip
OBJECTIVE: Final = ("fact_authenticity", "logical_validity")
DIMENSIONS: Final = (*SUBJECTIVE, *OBJECTIVE)

_SAME: Final = 1e-9
"""What floats lose by being added up in another order; it decides no debate."""

Scores: TypeAlias = Mapping[str, float | None]
Total = Literal["six_mean", "three_mean"]


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of what is there (equation 1, over rounds)."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def share(counted: Iterable[tuple[int, int]]) -> float | None:
    """Return all that holds by all there is (equations 2 and 3): no mean of the rounds' shares."""
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
    """Return InspireScore as its own paper's tables have it."""
    return mean(scores.get(one) for one in DIMENSIONS)


def three_mean(scores: Scores) -> float | None:
    """Return InspireScore as R-Debater's tables have it: the judged four count as one."""
    return mean([subjective(scores), *(scores.get(one) for one in OBJECTIVE)])


TOTALS: Final[Mapping[Total, Callable[[Scores], float | None]]] = {
    "six_mean": six_mean,
    "three_mean": three_mean,
}


def winner(scores: Scores, tolerance: float = 0.0) -> str | None:
    """Return who has the most, `tie` where the best are equal, None where somebody has none."""
    known = {name: score for name, score in scores.items() if score is not None}
    if not known or len(known) < len(scores):
        return None
    best = max(known.values())
    first = [name for name, score in known.items() if best - score <= tolerance + _SAME]
    return first[0] if len(first) == 1 else TIE


def common(scores: Mapping[str, Scores]) -> tuple[str, ...]:
    """Return the dimensions that everybody has a score of: totals are compared on these."""
    return tuple(
        one for one in DIMENSIONS
        if scores and all(its.get(one) is not None for its in scores.values())
    )  # fmt: skip
