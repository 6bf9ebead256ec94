"""The paper's arithmetic: means over rounds, shares over a debate, and the total.

The paper prints no formula for the total; its tables contain the unweighted mean of six dimensions.
R-Debater prints the mean of three under the same name. A missing score is None and is left out of
every mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

SUBJECTIVE: Final = (
    "emotional_appeal",
    "argument_clarity",
    "argument_arrangement",
    "topic_relevance",
)
OBJECTIVE: Final = ("fact_authenticity", "logical_validity")
DIMENSIONS: Final = (*SUBJECTIVE, *OBJECTIVE)
ABBREVIATIONS: Final = {
    "EA": "emotional_appeal",
    "AC": "argument_clarity",
    "AA": "argument_arrangement",
    "AR": "argument_arrangement",
    "TR": "topic_relevance",
    "FA": "fact_authenticity",
    "LV": "logical_validity",
}
"""The names of the dimensions in the tables of the paper."""

Scores: TypeAlias = Mapping[str, float | None]
Total = Literal["six_mean", "three_mean"]


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the scores that exist (equation 1, over rounds)."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def share(verdicts: Iterable[Sequence[str]]) -> float | None:
    """Return the share of true items over the whole debate (equations 2 and 3).

    It is no mean over rounds: each sequence has the verdicts on the items of one response. An
    unknown item is not true.
    """
    every = [verdict for of_response in verdicts for verdict in of_response]
    return every.count("true") / len(every) if every else None


def subjective(scores: Scores) -> float | None:
    """Return the mean of the four judged dimensions."""
    return mean(map(scores.get, SUBJECTIVE))


def objective(scores: Scores) -> float | None:
    """Return the mean of the two checked dimensions."""
    return mean(map(scores.get, OBJECTIVE))


def six_mean(scores: Scores) -> float | None:
    """Return the total of the InspireScore paper."""
    return mean(map(scores.get, DIMENSIONS))


def three_mean(scores: Scores) -> float | None:
    """Return the total of R-Debater: the four judged dimensions count as one."""
    return mean([subjective(scores), *map(scores.get, OBJECTIVE)])


TOTALS: Final[Mapping[Total, Callable[[Scores], float | None]]] = {
    "six_mean": six_mean,
    "three_mean": three_mean,
}


def common(scores: Mapping[str, Scores]) -> list[str]:
    """Return the dimensions in which every speaker has a score; totals are compared on these."""
    compared = []
    for dimension in DIMENSIONS:
        row = [of_speaker.get(dimension) for of_speaker in scores.values()]
        if row and None not in row:
            compared.append(dimension)
    return compared
