"""Which pair of debaters should play next, and when the ratings are precise enough.

In the Bradley-Terry model a debate of two debaters adds the information p (1 - p) to the difference
of their strengths, p being the probability that the first one wins. The pair whose two debates on a
claim (one with each side) reduce the sum of the ratings' variances most plays next. Debaters whose
intervals are narrow enough do not count in this sum.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from touche_rad.contests.tournament.ratings import TENFOLD, Floats, Rating, rate, strengths

NORMAL: Final = 1.959964
"""The quantile of the normal distribution for intervals of 95 %."""
_DIGITS: Final = 12
"""Gains that are equal to so many digits are equal: the first pair plays."""


def covariance(wins: Floats, prior: float) -> Floats:
    """Return the covariance of the strengths, from wins (ties as halves) of row against column."""
    theta = strengths(wins, prior)
    chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    information = (wins + wins.T) * chance * (1 - chance)
    alone = 1 / (1 + np.exp(-theta))
    own = np.diag(information.sum(axis=1) + prior * alone * (1 - alone))
    return np.asarray(np.linalg.inv(own - information), dtype=np.float64)


def widths(by_claim: Floats, ratings: Sequence[Rating], prior: float) -> Floats:
    """Return the width of each rating's interval.

    It is the larger one of the bootstrap's and the model's. With few claims the bootstrap's is too
    narrow; the model's takes all debates as independent.
    """
    spread = np.sqrt(np.diag(covariance(by_claim.sum(axis=0), prior)))
    model = 2 * NORMAL * spread * TENFOLD / np.log(10)
    drawn = [
        np.inf if one.low is None or one.high is None else one.high - one.low for one in ratings
    ]
    found: Floats = np.maximum(model, np.array(drawn))
    return found


def next_pairs(
    wins: Floats,
    open_pairs: Collection[tuple[int, int]],
    count: int,
    *,
    prior: float = 1.0,
    wanted: Sequence[bool] | None = None,
) -> list[tuple[int, int]]:
    """Return the most informative pairs of debaters, the best first.

    Args:
        wins: Wins of the row against the column, ties as halves.
        open_pairs: The pairs that can play, each as often as there are claims left for it.
        count: Number of pairs; a pair may be chosen again.
        prior: See `ratings.strengths`.
        wanted: The debaters whose ratings are not precise enough. Default: all.
    """
    left = dict.fromkeys(open_pairs, 0)
    for pair in open_pairs:
        left[pair] += 1
    theta = strengths(wins, prior)
    known = covariance(wins, prior)
    chosen: list[tuple[int, int]] = []
    rows = np.ones(len(wins), dtype=bool) if wanted is None else np.array(wanted, dtype=bool)
    while len(chosen) < count and any(left.values()):
        best = max(
            (pair for pair in sorted(left) if left[pair]),
            key=lambda pair: round(_gain(known, theta, pair, rows), _DIGITS),
        )
        chosen.append(best)
        left[best] -= 1
        known = _updated(known, theta, best)
    return chosen


def _information(theta: Floats, pair: tuple[int, int]) -> float:
    """Return the information of two debates, one with each side."""
    chance = 1 / (1 + np.exp(theta[pair[1]] - theta[pair[0]]))
    return float(2 * chance * (1 - chance))


def _gain(known: Floats, theta: Floats, pair: tuple[int, int], rows: np.ndarray) -> float:
    """Return by how much two debates reduce the sum of the variances."""
    apart = known[:, pair[0]] - known[:, pair[1]]
    information = _information(theta, pair)
    reduced = information * (apart[rows] ** 2).sum()
    return float(reduced / (1 + information * (apart[pair[0]] - apart[pair[1]])))


def _updated(known: Floats, theta: Floats, pair: tuple[int, int]) -> Floats:
    apart = known[:, pair[0]] - known[:, pair[1]]
    information = _information(theta, pair)
    share = information / (1 + information * (apart[pair[0]] - apart[pair[1]]))
    found: Floats = known - share * np.outer(apart, apart)
    return found


class Schedule:
    """The units of a tournament (a pair on a claim, with both sides), and which of them to play."""

    def __init__(
        self, debaters: int, claims: int, *, prior: float, samples: int, seed: int
    ) -> None:
        self.debaters, self.claims = debaters, claims
        self.prior, self.samples, self.seed = prior, samples, seed
        self.wins = np.zeros((claims, debaters, debaters))
        self.played: set[tuple[int, int, int]] = set()

    def add(self, claim: int, winner: int, loser: int, share: float | None) -> None:
        """Add a debate; the share is 1 for a win, .5 for a tie, None without a verdict."""
        self.played.add((claim, min(winner, loser), max(winner, loser)))
        if share is not None:
            self.wins[claim, winner, loser] += share
            self.wins[claim, loser, winner] += 1 - share

    def widths(self) -> Floats:
        """Return the width of each rating's interval now."""
        used = self.wins[[bool(one.any()) for one in self.wins]]
        if len(used) == 0:
            return np.full(self.debaters, np.inf)
        rated = rate(used, prior=self.prior, samples=self.samples, seed=self.seed)
        return widths(used, rated, self.prior)

    def next_units(self, count: int, until: float | None) -> list[tuple[int, int, int]]:
        """Return the units to play next; none if all intervals are at most `until` wide."""
        wide = self.widths() > until if until is not None else np.ones(self.debaters, dtype=bool)
        if not wide.any():
            return []
        claims = {
            pair: [claim for claim in range(self.claims) if (claim, *pair) not in self.played]
            for pair in combinations(range(self.debaters), 2)
        }
        pairs = [pair for pair, left in claims.items() for _ in left]
        chosen = next_pairs(
            self.wins.sum(axis=0), pairs, count, prior=self.prior, wanted=wide.tolist()
        )
        # Claims are taken in turn by number of debates, so that the bootstrap of claims has many.
        units: list[tuple[int, int, int]] = []
        for pair in chosen:
            used = [
                sum(unit[0] == claim for unit in [*self.played, *units])
                for claim in range(self.claims)
            ]
            claim = min(claims[pair], key=lambda one: (used[one], one))
            claims[pair].remove(claim)
            units.append((claim, *pair))
        return units
