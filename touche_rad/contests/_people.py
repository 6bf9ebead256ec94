"""Scores of debaters beside people's scores, as InspireDebate, InspireScore and Debatrix have them.

People's scores are in a contest's `gold.scores`: for each speaker a score by dimension, or the list
of all annotators' scores, whose mean counts. A debater is who `debaters` of a contest names for a
speaker (in debates that two debaters played), or else the speaker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from statistics import fmean
from typing import Final

from touche_rad.contest import TIE, Contest
from touche_rad.contests.score_report import MeanRow, SideRow, WinRow
from touche_rad.contests.two_sides import debaters_of
from touche_rad.files.contests import Judgement
from touche_rad.score.measures import correlations
from touche_rad.score.significance import ratio_interval

PEOPLE: Final = "people"
"""The run of people's scores."""
SCORES: Final = "scores"

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
    means: dict[str, dict[str, float]] = {}
    for speaker, scores in by_speaker.items():
        if speaker not in contest.sides:
            raise ValueError(f"{speaker!r} is not a speaker")
        if not isinstance(scores, Mapping):
            raise ValueError(f"{speaker}: expected an object with a score for each dimension")
        means[speaker] = {}
        for dimension, score in scores.items():
            marks = score if isinstance(score, list | tuple) else [score]
            are_numbers = [
                isinstance(mark, int | float) and not isinstance(mark, bool) and abs(mark) < 2**31
                for mark in marks
            ]
            if not marks or not all(are_numbers):
                raise ValueError(
                    f"{speaker}: {dimension}: expected a number, "
                    "or a list of the annotators' numbers"
                )
            means[speaker][str(dimension)] = fmean(marks)
    return means


def side_rows(
    run: str, contests: Mapping[str, Contest], judgements: Mapping[str, Judgement]
) -> Iterator[SideRow]:
    """Yield the correlation of each dimension of a panel with people's overall score.

    Each speaker of each debate is one sample. If people scored the same dimension, a second row is
    against that score. Without `general` or `total`, their overall score is the mean.
    """
    samples = []
    dimensions: dict[str, None] = {}
    for key, contest in contests.items():
        if key in judgements:
            for speaker, people_marks in people_scores(contest).items():
                panel_marks = judgements[key].outcome.scores.get(speaker, {})
                dimensions |= dict.fromkeys(panel_marks)
                if people_marks:
                    mean = fmean(people_marks.values())
                    overall = people_marks.get("general", people_marks.get("total", mean))
                    samples.append((panel_marks, {**people_marks, "overall": overall}))
    for dimension in dimensions:
        people_dimensions = ["overall"]
        if dimension not in ("general", "total"):
            people_dimensions.append(dimension)
        for of_people in people_dimensions:
            pairs = []
            for panel_marks, people_marks in samples:
                panel_mark = panel_marks.get(dimension)
                if panel_mark is not None and of_people in people_marks:
                    pairs.append((panel_mark, people_marks[of_people]))
            if pairs:
                yield SideRow(
                    run=run,
                    dimension=dimension,
                    people=of_people,
                    sides=len(pairs),
                    **correlations(*zip(*pairs, strict=True)),
                )


def _debater(contest: Contest, speaker: str) -> str:
    return debaters_of(contest).get(speaker, speaker)


def mean_rows(
    run: str, contests: Mapping[str, Contest], scores: Mapping[str, Scores], samples: int, seed: int
) -> Iterator[MeanRow]:
    """Yield the mean of each debater in each dimension, with an interval over debates."""
    # All debaters, without those who speak in one of several debates.
    debates: Counter[str] = Counter()
    for contest in contests.values():
        debates.update({_debater(contest, speaker) for speaker in contest.sides})
    listed = {debater for debater, count in debates.items() if count > 1 or len(contests) == 1}
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for key, scores_of_contest in scores.items():
        for speaker, marks in scores_of_contest.items():
            for dimension, mark in marks.items():
                debater = _debater(contests[key], speaker)
                if mark is not None and debater in listed:
                    values.setdefault((debater, dimension), {}).setdefault(key, []).append(mark)
    for (debater, dimension), by_debate in values.items():
        sums = list(map(sum, by_debate.values()))
        counts = list(map(len, by_debate.values()))
        low, high = ratio_interval(sums, counts, samples, seed)
        yield MeanRow(
            run=run,
            debater=debater,
            dimension=dimension,
            debates=len(by_debate),
            mean=sum(chain(*by_debate.values())) / sum(counts),
            low=low,
            high=high,
        )


def win_rows(
    run: str,
    contests: Mapping[str, Contest],
    judgements: Mapping[str, Judgement],
    samples: int,
    seed: int,
) -> Iterator[WinRow]:
    """Yield the wins of each debater in each dimension with a winner, with their interval."""
    shares: dict[str, dict[str, dict[str, float]]] = {}
    count: Counter[tuple[str, str, float]] = Counter()
    for key, judgement in judgements.items():
        outcome = judgement.outcome
        shares[key] = {speaker: {} for speaker in contests[key].sides}
        for dimension, winner in {**outcome.winners, "general": outcome.winner}.items():
            for speaker, of_speaker in shares[key].items():
                if winner is not None:
                    share = 0.5 if winner == TIE else float(winner == speaker)
                    of_speaker[dimension] = share
                    count[_debater(contests[key], speaker), dimension, share] += 1
    for row in mean_rows(run, contests, shares, samples, seed):
        yield WinRow(
            **row.model_dump(),
            wins=count[row.debater, row.dimension, 1.0],
            ties=count[row.debater, row.dimension, 0.5],
            points=2 * row.mean,
        )
