"""Aggregate votes to a winner: the mean of pro 0, tie .5 and con 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from touche_rad.contest import TIE

VALUES: Final[Mapping[str, float]] = {"pro": 0.0, TIE: 0.5, "con": 1.0}


def value_of(mean: float) -> str:
    """Return the winning side of a mean vote."""
    return TIE if mean == 0.5 else "pro" if mean < 0.5 else "con"


def winner(votes: Iterable[str]) -> str | None:
    """Return the side with the larger weight of votes, or a tie; None without votes."""
    values = [VALUES[vote] for vote in votes if vote in VALUES]
    return value_of(sum(values) / len(values)) if values else None


def merged(*of_one: str | None) -> str | None:
    """Merge one voter's votes on several criteria into one."""
    return winner(vote for vote in of_one if vote is not None)


def gold(
    votes: Sequence[Mapping[str, str | None]], speakers: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """Return the winner of each dimension as a speaker, and the number of votes for each.

    Args:
        votes: Each voter's side by dimension: pro, con or tie.
        speakers: The speaker of each side.
    """
    names = {**speakers, TIE: TIE}
    winners: dict[str, str] = {}
    counts: dict[str, dict[str, int]] = {}
    for dimension in dict.fromkeys(name for vote in votes for name in vote):
        given = [side for vote in votes if (side := vote.get(dimension)) is not None]
        won = winner(given)
        if won is not None:
            winners[dimension] = names[won]
            counts[dimension] = {names[side]: given.count(side) for side in VALUES if side in given}
    return winners, counts
