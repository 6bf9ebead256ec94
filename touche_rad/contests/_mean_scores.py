"""The mean scores and the wins of each debater, as InspireDebate, R-Debater and Debatrix have them.

A debater is who `debaters` of a contest names for a speaker (in debates that two debaters played),
or else the speaker. `people` are the annotators' mean scores in `gold.scores`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from touche_rad.contest import TIE, Contest
from touche_rad.contests._side_scores import people_scores
from touche_rad.contests.score_report import MeanRow, WinRow
from touche_rad.files.contests import Judgement
from touche_rad.score.significance import interval, resampled_sums

PEOPLE: Final = "people"
"""The run of people's scores."""


Scores = Mapping[str, Mapping[str, float | None]]
"""Scores of each speaker by dimension."""


def mean_rows(
    run: str, contests: Mapping[str, Contest], scores: Mapping[str, Scores], samples: int, seed: int
) -> Iterator[MeanRow]:
    """Yield the mean of each debater in each dimension, with an interval over debates."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for key, of_contest in scores.items():
        for speaker, marks in of_contest.items():
            for dimension, mark in marks.items():
                if mark is not None:
                    place = (debater_of(contests[key], speaker), dimension)
                    values.setdefault(place, {}).setdefault(key, []).append(mark)
    for (debater, dimension), by_debate in values.items():
        if len(by_debate) == 1 < len(contests):
            continue  # people who each speak in one debate
        low, high = _interval(list(by_debate.values()), samples, seed)
        every = [mark for marks in by_debate.values() for mark in marks]
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
    winners: dict[tuple[str, str], list[float]] = {}
    for key, judgement in judgements.items():
        outcome = judgement.outcome
        for dimension, winner in {**outcome.winners, "general": outcome.winner}.items():
            for speaker in contests[key].sides if winner is not None else ():
                points = 2.0 if winner == speaker else 1.0 if winner == TIE else 0.0
                place = (debater_of(contests[key], speaker), dimension)
                winners.setdefault(place, []).append(points)
    for (debater, dimension), every in winners.items():
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


def people(contests: Mapping[str, Contest]) -> dict[str, Scores]:
    """Return people's scores of the contests that have some."""
    return {key: scores for key, one in contests.items() if (scores := people_scores(one))}


def debater_of(contest: Contest, speaker: str) -> str:
    """Return the debater of a speaker, or the speaker."""
    debaters = (contest.model_extra or {}).get("debaters")
    name = debaters.get(speaker) if isinstance(debaters, Mapping) else None
    return name if isinstance(name, str) else speaker


def _interval(
    values: Sequence[Sequence[float]], samples: int, seed: int
) -> tuple[float | None, float | None]:
    if len(values) < 2:
        return None, None
    sums = resampled_sums(
        np.array([(sum(of_one), len(of_one)) for of_one in values], float), samples, seed
    )
    return interval(sums[:, 0] / sums[:, 1])
