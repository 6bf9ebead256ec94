"""The result of a tournament: wins, ratings, and its table for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.contests.tournament._ratings import rate
from touche_rad.contests.two_sides import FALLBACK, debaters_of
from touche_rad.records import FrozenRecord
from touche_rad.score.reports import RANKS
from touche_rad.score.result import RankedRun, rank_text
from touche_rad.score.significance import Measured, rank
from touche_rad.score.tables import (
    NONE,
    Columns,
    Part,
    Printed,
    Table,
    fixed,
    interval_cell,
    table,
)
from touche_rad.score.words import probability, too_few
from touche_rad.text import count_of

VERSION: Final = 2
FORMAT: Final = "touche-rad tournament 2"


class Standing(FrozenRecord, allow_inf_nan=False):
    """The result of one debater."""

    name: str
    rating: float
    low: float | None
    high: float | None
    """95 % interval of the rating (bootstrap of claims); None with too few claims."""
    rank: int | None
    """1 if it is not significantly worse than the first, else its place; None with few claims."""
    place: int | None
    p: float | None
    """The corrected p-value of its difference from the first one."""
    wins: int
    ties: int
    losses: int
    undecided: int
    """Debates without a verdict; they count neither in ratings nor in shares."""
    share: float | None
    """Share of wins in the decided debates; a tie is half a win."""
    speeches: int
    fallbacks: int
    """Speeches that are fallbacks."""
    words: float | None
    """Mean number of words per speech."""

    @property
    def rank_text(self) -> str:
        """The rank."""
        return rank_text(self.rank, self.place)

    @property
    def p_text(self) -> str:
        """The p-value."""
        return probability(self.p)

    @property
    def share_text(self) -> str:
        """The share of wins in words."""
        return format_share(self.share)

    @property
    def interval_text(self) -> str:
        """The interval of the rating."""
        return interval_cell("[{low:.0f}, {high:.0f}]", self)


class Tournament(Printed, allow_inf_nan=False):
    """The result of a tournament, best debater first."""

    format: Literal["touche-rad tournament 2"] = FORMAT
    judge: str
    judge_index: str = ""
    """Whether the judge had an index, in words; empty if it uses none."""
    model: str | None
    judge_model: str | None
    claims: int
    debates: int
    undecided: int
    rounds: int
    words: int
    pro_share: float | None
    """Share of wins of the side for the claim; a tie is half a win."""
    prior: float
    samples: int
    seed: int
    standings: Sequence[Standing]
    shares: Sequence[Sequence[float | None]]
    """Share of wins of the row against the column, in the order of the standings."""
    met: Sequence[Sequence[int]]
    """Number of decided debates of each share."""

    def parts(self) -> Iterator[Part]:
        """Yield the ratings, the matrix of win shares and the notes."""
        yield table({**RANKING_COLUMNS, **COLUMNS}, self.standings)
        if any(standing.rank != standing.place for standing in self.standings):
            yield [RANKS]
        heads = ["share of wins against"]
        rows = []
        for number, standing in enumerate(self.standings, 1):
            heads.append(str(number))
            shares = map(format_share, self.shares[number - 1])
            rows.append([f"{number:2} {standing.name}", *shares])
        yield Table(heads, rows)
        yield [*self.notes(), *too_few("claims", self.claims), *self.fallbacks()]

    def notes(self) -> Iterator[str]:
        """Say what was played, who judged, and which debates do not count."""
        claims = count_of(self.claims, "claim")
        judge = f"{self.judge} {self.judge_index}".rstrip()
        note = f"{self.debates} debates on {claims}, judged by {judge}"
        if self.pro_share is not None:
            note += f"; the side for the claim won {format_share(self.pro_share)}, ties as halves"
        yield note
        if self.undecided:
            yield f"{self.undecided} debates have no verdict and do not count"

    def fallbacks(self) -> Iterator[str]:
        """Yield a line for each debater with fallbacks."""
        for standing in self.standings:
            if standing.fallbacks:
                yield (
                    f"{standing.name}: {standing.fallbacks} of {standing.speeches} speeches "
                    "are fallbacks"
                )


RANKING_COLUMNS: Columns = {
    "{name}": "debater",
    "{rank_text}": "rank",
    "{rating:.0f}": "rating",
    "{interval_text}": "95 %",
}
COLUMNS: Columns = {
    "{p_text}": "p (Holm)",
    "{wins}": "won",
    "{ties}": "tied",
    "{losses}": "lost",
    "{share_text}": "share",
    "{words:.1f}": "words",
}


def rounded_share(share: float | None) -> float | None:
    """Round a share to two digits, so that it and its complement sum to 1."""
    if share is None:
        return None
    larger = math.floor(100 * max(share, 1 - share) + 0.5 + 1e-9) / 100
    return larger if share >= 0.5 else 1 - larger


def format_share(share: float | None) -> str:
    """Format a share as it is rounded."""
    rounded = rounded_share(share)
    return NONE if rounded is None else fixed(rounded, ".2f")


def result_of(
    debates: Iterable[tuple[Contest, Outcome]],
    names: Sequence[str],
    settings: Mapping[str, Any],
    *,
    prior: float,
    samples: int,
    seed: int,
) -> Tournament:
    """Count the wins and rate the debaters."""
    games = list(debates)
    numbers = {name: number for number, name in enumerate(names)}
    # Sorted, so that the order of the claims does not decide the bootstrap samples.
    motions = sorted({contest.motion for contest, _ in games})
    claims = {motion: number for number, motion in enumerate(motions)}
    wins = np.zeros((len(claims), len(names), len(names)))
    pro_shares: list[float] = []
    for contest, outcome in games:
        opener, replier = contest.speakers
        share = share_of(outcome, opener)
        if share is None:
            continue
        debaters = debaters_of(contest)
        first = numbers[debaters[opener]]
        second = numbers[debaters[replier]]
        claim = claims[contest.motion]
        wins[claim, first, second] += share
        wins[claim, second, first] += 1 - share
        pro_shares.append(share if contest.sides[opener] == "pro" else 1 - share)
    ratings = rate(wins, prior=prior, samples=samples, seed=seed)
    figures = {name: {"rating": ratings[numbers[name]]} for name in sorted(names)}
    ranking = rank(figures, "rating", len(claims))
    p_values = {row.run: row.p_holm for row in ranking.comparisons}
    order = [numbers[ranked.run] for ranked in ranking.runs]
    total = wins.sum(axis=0)
    met = np.rint(total + total.T).astype(int)
    standings = []
    shares = []
    for ranked, number in zip(ranking.runs, order, strict=True):
        points = float(total[number].sum())
        p = p_values.get(ranked.run)
        standings.append(_standing(ranked, p, ratings[number], games, points))
        counts = met[number]
        shares.append(
            [
                float(total[number, against]) / int(counts[against]) if counts[against] else None
                for against in order
            ]
        )
    return Tournament(
        **settings,
        claims=len(claims),
        debates=len(games),
        undecided=len(games) - len(pro_shares),
        pro_share=sum(pro_shares) / len(pro_shares) if pro_shares else None,
        prior=prior,
        samples=samples,
        seed=seed,
        standings=standings,
        shares=shares,
        met=met[np.ix_(order, order)].tolist(),
    )


def share_of(outcome: Outcome, speaker: str) -> float | None:
    """Return 1 for a win, .5 for a tie, 0 for a loss, and None without a verdict."""
    if outcome.winner is None:
        return None
    return 0.5 if outcome.winner == TIE else float(outcome.winner == speaker)


def _standing(
    ranked: RankedRun,
    p: float | None,
    rating: Measured,
    games: Sequence[tuple[Contest, Outcome]],
    points: float,
) -> Standing:
    """Count wins, speeches and words of a debater; `points` are its wins, ties as halves."""
    kinds = {1.0: "wins", 0.5: "ties", 0.0: "losses", None: "undecided"}
    count = dict.fromkeys((*kinds.values(), "speeches", "fallbacks"), 0)
    words = 0
    for contest, outcome in games:
        for speaker, debater in debaters_of(contest).items():
            if debater == ranked.run:
                count[kinds[share_of(outcome, speaker)]] += 1
                for speech in contest.speeches:
                    if speech.speaker == speaker:
                        count["speeches"] += 1
                        count["fallbacks"] += FALLBACK in speech.rest
                        words += len(speech.text.split())
    low, high = rating.interval
    decided = count["wins"] + count["ties"] + count["losses"]
    return Standing(
        name=ranked.run,
        rank=ranked.rank,
        place=ranked.place,
        p=p,
        rating=rating.value,
        low=low,
        high=high,
        share=points / decided if decided else None,
        words=words / count["speeches"] if count["speeches"] else None,
        **count,
    )
