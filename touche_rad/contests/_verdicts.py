"""Formulas for verdicts on whole debates: values of winners, errors, correlations, predictors.

As in the papers, the value of a winner is 0 for pro, .5 for a tie and 1 for con. Debates with more
than two debaters have no such value; for them only accuracy is computed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from touche_rad.contest import SIDES, TIE, Contest, Outcome


def gold_winners(contest: Contest, dimension: str) -> frozenset[str]:
    """Return the human winners of a dimension; if there are several, each is correct."""
    gold = contest.gold.get(dimension)
    if isinstance(gold, str):
        return frozenset([gold])
    return frozenset(map(str, gold)) if isinstance(gold, list | tuple) else frozenset()


def winner_value(contest: Contest, winner: str) -> float:
    """Return the value of a winner or a side: pro 0, tie .5, con 1."""
    if winner == TIE:
        return 0.5
    return 0.0 if contest.sides.get(winner, winner) == "pro" else 1.0


def is_right(contest: Contest, winner: str | None, dimension: str) -> bool:
    """Whether a verdict names a human winner, or the side of one."""
    gold = gold_winners(contest, dimension)
    if winner is None or winner == TIE or winner in contest.sides:
        return winner in gold
    return any(contest.sides.get(gold_winner) == winner for gold_winner in gold)


def gold_values(contest: Contest, dimension: str, *, votes: bool = False) -> Mapping[float, int]:
    """Return the correct values and their counts: of the winner or, with `votes`, of each vote."""
    if not two_sided(contest):
        return {}
    if not votes:
        gold = gold_winners(contest, dimension)
        return {winner_value(contest, min(gold)): 1} if len(gold) == 1 else {}
    by_dimension = contest.gold.get("votes")
    counts = by_dimension.get(dimension) if isinstance(by_dimension, Mapping) else None
    if not isinstance(counts, Mapping):
        return {}
    return {
        winner_value(contest, name): count
        for name, count in counts.items()
        if name in (*contest.sides, TIE) and isinstance(count, int) and count > 0
    }


def two_sided(contest: Contest) -> bool:
    """Whether each side has exactly one speaker."""
    return sorted(contest.sides.values()) == ["con", "pro"]


def score_difference(contest: Contest, outcome: Outcome, dimension: str) -> float | None:
    """Return con's score minus pro's score in a dimension.

    For `general`, `total` counts if there is no score of that name.
    """
    if not two_sided(contest):
        return None
    by_side = {}
    for speaker, side in contest.sides.items():
        scores = outcome.scores.get(speaker, {})
        score = scores.get(dimension)
        if score is None and dimension == "general":
            score = scores.get("total")
        if score is None:
            return None
        by_side[side] = score
    return by_side["con"] - by_side["pro"]


Error = tuple[float, int]
"""An error and its count."""


def mean_errors(errors: Sequence[Error]) -> dict[str, float]:
    """Return the root mean square and the mean absolute error times 100, as in the papers."""
    count = sum(times for _, times in errors)
    if not count:
        return {}
    squares = sum(times * error**2 for error, times in errors)
    sizes = sum(times * abs(error) for error, times in errors)
    return {"rmse": 100 * math.sqrt(squares / count), "mae": 100 * sizes / count}


def constant_predictors(contests: Sequence[Contest]) -> dict[str, list[str]]:
    """Return the winners of the constant predictors: always a tie, a side, a team or a speaker."""
    predictors = {"always tie": [TIE] * len(contests)}
    two_sides = list(map(two_sided, contests))
    if all(two_sides):
        for side in SIDES:
            predictors[f"always {side}"] = [contest.of(side)[0] for contest in contests]
        return predictors
    speakers = [contest.speakers for contest in contests]
    if all(teams == speakers[0] for teams in speakers):
        return {f"always {team}": [team] * len(contests) for team in speakers[0]}
    if not any(two_sides):
        predictors = {}
    by_place = zip(*speakers, strict=False)  # as many as the fewest speakers
    for number, names in enumerate(by_place, 1):
        predictors[f"always speaker {number}"] = list(names)
    return predictors


def longest_speaker(contest: Contest) -> str | None:
    """Return the speaker with the most words, or None if two are equal."""
    words = Counter(dict.fromkeys(contest.speakers, 0))
    for speech in contest.speeches:
        words[speech.speaker] += len(speech.text.split())
    most = words.most_common(2)
    is_tied = len(most) > 1 and most[0][1] == most[1][1]
    return most[0][0] if most and not is_tied else None
