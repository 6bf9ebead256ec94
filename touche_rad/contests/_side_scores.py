"""Correlate a panel's scores of each side with people's, as InspireScore's tables 2 and 7 do.

People's scores are in a contest's `gold.scores`: for each speaker a score by dimension, or the list
of all annotators' scores, whose mean counts. Each speaker of each debate is one sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from touche_rad.contest import Contest
from touche_rad.contests.score_report import SideRow
from touche_rad.files.contests import Judgement
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
    by_speaker = contest.gold.get(SCORES, {})
    if not isinstance(by_speaker, Mapping):
        raise ValueError("expected an object with the scores of each speaker")
    people: dict[str, People] = {}
    for speaker, scores in by_speaker.items():
        if speaker not in contest.sides:
            raise ValueError(f"{speaker!r} is not a speaker")
        if not isinstance(scores, Mapping):
            raise ValueError(f"{speaker}: expected an object with a score for each dimension")
        people[speaker] = {
            str(name): _mean(f"{speaker}: {name}", value) for name, value in scores.items()
        }
    return people


def _mean(name: str, value: Any) -> float:
    numbers = value if isinstance(value, list | tuple) else [value]
    if not numbers or not all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in numbers
    ):
        raise ValueError(f"{name}: expected a number, or a list of the annotators' numbers")
    return fmean(numbers)


def _overall(scores: People) -> float | None:
    """Return people's overall score: `general` or `total`, else the mean of the dimensions."""
    mean = fmean(scores.values()) if scores else None
    return scores.get("general", scores.get("total", mean))


def side_rows(
    run: str, contests: Mapping[str, Contest], judgements: Mapping[str, Judgement]
) -> Iterator[SideRow]:
    """Yield a row for each dimension of a panel, against people's overall score.

    If people scored the same dimension, a second row is against that score.
    """
    samples = [
        (judgements[key].outcome.scores.get(speaker, {}), scores)
        for key, contest in contests.items()
        if key in judgements
        for speaker, scores in people_scores(contest).items()
    ]
    for name in dict.fromkeys(name for panel, _ in samples for name in panel):
        overall = [(panel.get(name), _overall(scores)) for panel, scores in samples]
        yield from _row(run, name, "overall", overall)
        if name not in _OVERALL:
            same = [(panel.get(name), scores.get(name)) for panel, scores in samples]
            yield from _row(run, name, name, same)


def _row(
    run: str, name: str, people: str, samples: Sequence[tuple[float | None, float | None]]
) -> Iterator[SideRow]:
    pairs = [(ours, theirs) for ours, theirs in samples if ours is not None and theirs is not None]
    if pairs:
        yield SideRow(
            run=run,
            dimension=name,
            people=people,
            sides=len(pairs),
            **correlations(*zip(*pairs, strict=True)),
        )
