"""Scores of debaters beside people's scores, as InspireDebate, InspireScore and Debatrix have them.

People's scores are in a contest's `gold.scores`: for each speaker a score by dimension, or the list
of all annotators' scores, whose mean counts. A debater is who `debaters` of a contest names for a
speaker (in debates that two debaters played), or else the speaker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any, Final

from touche_rad.contest import TIE, Contest
from touche_rad.contests.score_report import MeanRow, SideRow, WinRow
from touche_rad.files.contests import Judgement
from touche_rad.score.measures import correlations
from touche_rad.score.significance import ratio_interval

PEOPLE: Final = "people"
"""The run of people's scores."""
SCORES: Final = "scores"
_OVERALL: Final = ("general", "total")

Scores = Mapping[str, Mapping[str, float | None]]
"""Scores of each speaker by dimension."""


def people_scores(contest: Contest) -> dict[str, dict[str, float]]:
    """Return people's mean scores by speaker and dimension.

    Raises:
        ValueError: `gold.scores` has another form.
    """
    by_speaker = contest.gold.get(SCORES, {})
    if not isinstance(by_speaker, Mapping):
        raise ValueError("expected an object with the scores of each speaker")
    people: dict[str, dict[str, float]] = {}
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


def side_rows(
    run: str, contests: Mapping[str, Contest], judgements: Mapping[str, Judgement]
) -> Iterator[SideRow]:
    """Yield the correlation of each dimension of a panel with people's overall score.

    Each speaker of each debate is one sample. If people scored the same dimension, a second row is
    against that score. Without `general` or `total`, their overall score is the mean.
    """
    samples = [
        (judgements[key].outcome.scores.get(speaker, {}), scores)
        for key, contest in contests.items()
        if key in judgements
        for speaker, scores in people_scores(contest).items()
    ]
    for name in dict.fromkeys(name for panel, _ in samples for name in panel):
        for of_people in ("overall",) if name in _OVERALL else ("overall", name):
            pairs = []
            for panel, scores in samples:
                theirs = scores.get(of_people)
                if of_people == "overall":
                    mean = fmean(scores.values()) if scores else None
                    theirs = scores.get("general", scores.get("total", mean))
                ours = panel.get(name)
                if ours is not None and theirs is not None:
                    pairs.append((ours, theirs))
            if pairs:
                yield SideRow(
                    run=run,
                    dimension=name,
                    people=of_people,
                    sides=len(pairs),
                    **correlations(*zip(*pairs, strict=True)),
                )


def mean_rows(
    run: str, contests: Mapping[str, Contest], scores: Mapping[str, Scores], samples: int, seed: int
) -> Iterator[MeanRow]:
    """Yield the mean of each debater in each dimension, with an interval over debates."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for key, of_contest in scores.items():
        for speaker, marks in of_contest.items():
            for dimension, mark in marks.items():
                if mark is not None:
                    place = (_debater_of(contests[key], speaker), dimension)
                    values.setdefault(place, {}).setdefault(key, []).append(mark)
    for (debater, dimension), by_debate in values.items():
        if len(by_debate) == 1 < len(contests):
            continue  # people who each speak in one debate
        every = [mark for marks in by_debate.values() for mark in marks]
        sums, counts = zip(*((sum(one), len(one)) for one in by_debate.values()), strict=True)
        low, high = ratio_interval(sums, counts, samples, seed)
        yield MeanRow(
            run=run,
            debater=debater,
            dimension=dimension,
            debates=len(by_debate),
            mean=sum(every) / len(every),
            low=low,
            high=high,
        )


def win_rows(
    run: str, contests: Mapping[str, Contest], judgements: Mapping[str, Judgement]
) -> Iterator[WinRow]:
    """Yield the wins of each debater in each dimension with a winner."""
    points: dict[tuple[str, str], list[float]] = {}
    for key, judgement in judgements.items():
        outcome = judgement.outcome
        for dimension, winner in {**outcome.winners, "general": outcome.winner}.items():
            for speaker in contests[key].sides if winner is not None else ():
                place = (_debater_of(contests[key], speaker), dimension)
                own = 2.0 if winner == speaker else 1.0 if winner == TIE else 0.0
                points.setdefault(place, []).append(own)
    for (debater, dimension), every in points.items():
        if len(every) == 1 < len(contests):
            continue
        yield WinRow(
            run=run,
            debater=debater,
            dimension=dimension,
            debates=len(every),
            wins=every.count(2.0),
            points=sum(every) / len(every),
        )


def _debater_of(contest: Contest, speaker: str) -> str:
    debaters = (contest.model_extra or {}).get("debaters")
    name = debaters.get(speaker) if isinstance(debaters, Mapping) else None
    return name if isinstance(name, str) else speaker
