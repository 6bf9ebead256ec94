"""Formulas for verdicts on whole debates: values of winners, errors, correlations, predictors.

As in the papers, the value of a winner is 0 for pro, .5 for a tie and 1 for con. Debates with more
than two debaters have no such value; for them only accuracy is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from touche_rad.contest import TIE, Contest, Outcome

Winners = frozenset[str]


def gold_winners(contest: Contest, dimension: str) -> Winners:
    """Return the human winners of a dimension; if there are several, each is correct."""
    gold = contest.gold.get(dimension)
    if isinstance(gold, str):
        return frozenset([gold])
    return frozenset(map(str, gold)) if isinstance(gold, list | tuple) else frozenset()


def value(contest: Contest, winner: str) -> float:
    """Return the value of a winner: pro 0, tie .5, con 1."""
    return 0.5 if winner == TIE else 0.0 if contest.sides[winner] == "pro" else 1.0


def gold_values(contest: Contest, dimension: str, *, votes: bool = False) -> Mapping[float, int]:
    """Return the correct values and their counts: of the winner or, with `votes`, of each vote."""
    if not two_sided(contest):
        return {}
    if not votes:
        gold = gold_winners(contest, dimension)
        return {value(contest, next(iter(gold))): 1} if len(gold) == 1 else {}
    votes_by_name = contest.gold.get("votes")
    of = votes_by_name.get(dimension) if isinstance(votes_by_name, Mapping) else None
    return {
        value(contest, who): count
        for who, count in (of.items() if isinstance(of, Mapping) else ())
        if who in (*contest.sides, TIE) and isinstance(count, int) and count > 0
    }


def two_sided(contest: Contest) -> bool:
    """Whether each side has exactly one speaker."""
    return sorted(contest.sides.values()) == ["con", "pro"]


def score_difference(contest: Contest, outcome: Outcome, dimension: str) -> float | None:
    """Return con's score minus pro's score in a dimension."""
    if not two_sided(contest):
        return None
    (pro,), (con,) = contest.of("pro"), contest.of("con")
    marks = [speaker_score(outcome, name, dimension) for name in (pro, con)]
    return None if marks[0] is None or marks[1] is None else marks[1] - marks[0]


def speaker_score(outcome: Outcome, speaker: str, dimension: str) -> float | None:
    """Return a speaker's score; for `general`, a `total` if there is no score of that name."""
    scores = outcome.scores.get(speaker, {})
    score = scores.get(dimension)
    return scores.get("total") if score is None and dimension == "general" else score


Error = tuple[float, int]
"""An error and its count."""


def root_mean_square(errors: Sequence[Error]) -> float | None:
    """Root mean square error times 100, as in the papers."""
    count = sum(times for _, times in errors)
    return 100 * math.sqrt(sum(t * e * e for e, t in errors) / count) if count else None


def mean_absolute(errors: Sequence[Error]) -> float | None:
    """Mean absolute error times 100."""
    count = sum(times for _, times in errors)
    return 100 * sum(times * abs(error) for error, times in errors) / count if count else None


def constant_predictors(
    contests: Sequence[Contest], dimension: str
) -> dict[str, Callable[[Contest], str]]:
    """Return the constant predictors: always a tie, a side, a team or a speaker."""
    if all(two_sided(one) for one in contests):
        return {
            "always tie": lambda _: TIE,
            "always pro": lambda contest: contest.of("pro")[0],
            "always con": lambda contest: contest.of("con")[0],
        }
    teams = contests[0].speakers
    if any(one.speakers != teams for one in contests):
        tie = {"always tie": lambda _: TIE} if any(map(two_sided, contests)) else {}
        return {
            **tie,
            **{
                f"always speaker {n + 1}": lambda contest, n=n: contest.speakers[n]  # type: ignore[misc]
                for n in range(min(len(one.speakers) for one in contests))
            },
        }
    return {f"always {team}": lambda _, team=team: team for team in teams}  # type: ignore[misc]


def chance_accuracy(contest: Contest, winners: Winners, *, ties: bool) -> float:
    """The accuracy of a random guess."""
    options = [*contest.speakers, TIE] if ties else list(contest.speakers)
    return len(winners & set(options)) / len(options)


def same_winner(
    pairs: Sequence[tuple[str | None, str | None]],
) -> tuple[float, float | None] | None:
    """Return the share of equal winners of two runs, and Cohen's kappa."""
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not known:
        return None
    same = sum(a == b for a, b in known) / len(known)
    first, second = [a for a, _ in known], [b for _, b in known]
    by_chance = sum(first.count(name) * second.count(name) for name in set(first)) / len(known) ** 2
    return same, None if by_chance == 1 else (same - by_chance) / (1 - by_chance)


def words_of(contest: Contest) -> Mapping[str, int]:
    """Return the number of words of each speaker."""
    said: dict[str, int] = dict.fromkeys(contest.speakers, 0)
    for speech in contest.speeches:
        said[speech.speaker] += len(speech.text.split())
    return said


def longest_speaker(contest: Contest) -> str | None:
    """Return the speaker with the most words, or None if two are equal."""
    said = words_of(contest)
    most = max(said.values(), default=0)
    leading = [name for name, count in said.items() if count == most]
    return leading[0] if len(leading) == 1 else None


def share(parts: Sequence[Any]) -> float | None:
    """Return the share of true values."""
    return sum(map(bool, parts)) / len(parts) if parts else None
