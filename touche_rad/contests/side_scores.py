"""Correlate a panel's scores of each side with people's, as InspireScore's tables 2 and 7 do.

People's scores are in a contest's `gold.scores`: for each speaker a score by dimension, or the list
of all annotators' scores, whose mean counts. Each speaker of each debate is one sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from touche_rad.contest import Contest, Outcome
from touche_rad.contests.score_report import SideRow
from touche_rad.score.measures import correlations

SCORES: Final = "scores"
_OVERALL: Final = ("general", "total")

People = Mapping[str, float]
"""People's mean score of a side by dimension."""


def people_scores(contest: Contest) -> dict[str, People]:
    """Return people's mean scores by speaker and dimension.

    Raises:
        ValueError: `gold.scores` has another form.
    """
    given = contest.gold.get(SCORES, {})
    if not isinstance(given, Mapping):
        raise ValueError("expected an object with the scores of each speaker")
    found: dict[str, People] = {}
    for speaker, scores in given.items():
        if speaker not in contest.sides:
            raise ValueError(f"{speaker!r} is not a speaker")
        if not isinstance(scores, Mapping):
            raise ValueError(f"{speaker}: expected an object with a score for each dimension")
        found[speaker] = {
            str(name): _mean(f"{speaker}: {name}", value) for name, value in scores.items()
        }
    return found


def _mean(name: str, value: Any) -> float:
    numbers = value if isinstance(value, list | tuple) else [value]
    if not numbers or not all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in numbers
    ):
        raise ValueError(f"{name}: expected a number, or a list of the annotators' numbers")
    return fmean(numbers)


def overall(scores: People) -> float | None:
    """Return people's overall score: `general` or `total`, else the mean of the dimensions."""
    for name in _OVERALL:
        if name in scores:
            return scores[name]
    return fmean(scores.values()) if scores else None


def side_rows(
    run: str, known: Mapping[str, Contest], outcomes: Mapping[str, Outcome]
) -> Iterator[SideRow]:
    """Yield a row for each dimension of a panel, against people's overall score.

    If people scored the same dimension, a second row is against that score.
    """
    samples = [
        (outcomes[key].scores.get(speaker, {}), scores)
        for key, contest in known.items()
        if key in outcomes
        for speaker, scores in people_scores(contest).items()
    ]
    for name in dict.fromkeys(name for given, _ in samples for name in given):
        yield from _rows(
            run, name, "overall", [(given.get(name), overall(scores)) for given, scores in samples]
        )
        if name not in _OVERALL:
            yield from _rows(
                run, name, name, [(given.get(name), scores.get(name)) for given, scores in samples]
            )


def _rows(
    run: str, name: str, people: str, samples: Sequence[tuple[float | None, float | None]]
) -> Iterator[SideRow]:
    pairs = [(ours, theirs) for ours, theirs in samples if ours is not None and theirs is not None]
    if pairs:
        ours, theirs = zip(*pairs, strict=True)
        yield SideRow(
            run=run,
            dimension=name,
            people=people,
            sides=len(pairs),
            **correlations(ours, theirs),
        )
