"""Whom outcomes name a winner: by the panel's word, by its scores, and by whom it is said."""

from __future__ import annotations

from collections.abc import Mapping

from touche_rad.contest import Contest, Outcome
from touche_rad.files.contests import Judgement


def all_named(outcome: Outcome, contest: Contest) -> set[str]:
    """Return whom an outcome calls a winner, as far as it is measured."""
    told = [outcome.winners, *(outcome.details.get(key) for key in ("by_verdict", "by_score"))]
    found = [of.get(name) for of in told if isinstance(of, Mapping) for name in contest.gold]
    return {one for one in (outcome.winner, *found) if isinstance(one, str)}


def told_of(outcome: Outcome, dimension: str) -> set[str]:
    """Return the dimensions that an outcome says anything of."""
    scored = {name for marks in outcome.scores.values() for name in marks}
    return {*outcome.winners, *scored, *(["general"] if dimension == "general" else [])}


def winner_of(outcome: Outcome | None, dimension: str) -> str | None:
    """Return who was named; a panel that decides by scores may have named another besides."""
    if outcome is None:
        return None
    told = outcome.details.get("by_verdict")
    if isinstance(told, Mapping) and dimension in told:
        return of_both(outcome, "by_verdict", dimension)
    if dimension == "general":
        return outcome.winner
    return outcome.winners.get(dimension)


def of_both(outcome: Outcome | None, key: str, dimension: str) -> str | None:
    """Return the winner of one kind, where a panel told one of both: by its word, by scores."""
    told = outcome.details.get(key) if outcome else None
    found = told.get(dimension) if isinstance(told, Mapping) else None
    return found if isinstance(found, str) else None


def judge_of(of_run: Mapping[str, Judgement]) -> str:
    """Return who judged all of a run."""
    judges = {one.judge for one in of_run.values()}
    return judges.pop() if len(judges) == 1 else ""
