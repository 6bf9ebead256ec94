"""The result of a tournament: wins, ratings, costs, and its table for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.contests.tournament._ratings import rate
from touche_rad.contests.tournament.budget import Costs
from touche_rad.contests.two_sides import DEBATERS, FALLBACK
from touche_rad.score.significance import Measured, differs
from touche_rad.score.tables import NONE, Columns, FrozenRecord, Part, Printed, Table, table

VERSION: Final = 1
FORMAT: Final = "touche-rad tournament 1"


class Standing(FrozenRecord):
    """The result of one debater."""

    name: str
    rating: float
    low: float | None
    high: float | None
    """95 % interval of the rating (bootstrap of claims); None with one claim."""
    differs: bool | None = None
    """Whether the 95 % interval of the difference from the first rating excludes 0."""
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
    asked: Costs | None
    """Its model calls and tokens; None if it made no call."""

    @property
    def share_text(self) -> str:
        """The share of wins in words."""
        return format_share(self.share)


class Tournament(Printed):
    """The result of a tournament, best debater first."""

    format: Literal["touche-rad tournament 1"] = FORMAT
    judge: str
    model: str | None
    judge_model: str | None
    claims: int
    debates: int
    undecided: int
    rounds: int
    words: int
    max_calls: int | None
    max_tokens: int | None
    pro_share: float | None
    """Share of wins of the side for the claim; a tie is half a win."""
    prior: float
    samples: int
    seed: int
    standings: tuple[Standing, ...]
    shares: tuple[tuple[float | None, ...], ...]
    """Share of wins of the row against the column, in the order of the standings."""
    met: tuple[tuple[int, ...], ...]
    """Number of decided debates of each share."""

    def parts(self) -> Iterator[Part]:
        """Yield the ratings, the matrix of win shares and the notes."""
        has_costs = any(one.asked for one in self.standings)
        yield table({**COLUMNS, **(COST_COLUMNS if has_costs else {})}, self.standings)
        yield _matrix(self)
        yield _notes(self)

    def fallbacks(self) -> Iterator[str]:
        """Yield a line for each debater with fallbacks."""
        for one in self.standings:
            if one.fallbacks:
                yield f"{one.name}: {one.fallbacks} of {one.speeches} speeches are fallbacks"


COLUMNS: Columns = {
    "{name}": "debater",
    "{rating:.0f}": "rating",
    "{low:.0f} to {high:.0f}": "95 %",
    "{wins}": "won",
    "{ties}": "tied",
    "{losses}": "lost",
    "{share_text}": "share",
    "{words:.1f}": "words a speech",
}
COST_COLUMNS: Columns = {
    "{asked.calls}": "calls",
    "{asked.from_cache}": "from cache",
    "{asked.prompt_tokens}": "tokens in",
    "{asked.completion_tokens}": "tokens out",
    "{asked.failures}": "failed calls",
}
JudgedDebates = Sequence[tuple[Contest, Outcome]]


def format_share(share: float | None) -> str:
    """Format a share with two digits, rounded so that it and its complement sum to 1."""
    if share is None:
        return NONE
    larger = math.floor(100 * max(share, 1 - share) + 0.5 + 1e-9) / 100
    return f"{larger if share >= 0.5 else 1 - larger:.2f}"


def debaters_of(contest: Contest) -> Mapping[str, str]:
    """Return which debater was which speaker."""
    names = (contest.model_extra or {}).get(DEBATERS)
    return {str(who): str(name) for who, name in names.items()} if isinstance(names, dict) else {}


def result_of(
    debates: Iterable[tuple[Contest, Outcome]],
    names: Sequence[str],
    costs: Mapping[str, Costs],
    settings: Mapping[str, Any],
    *,
    prior: float,
    samples: int,
    seed: int,
) -> Tournament:
    """Count the wins and rate the debaters."""
    games = list(debates)
    place = {name: number for number, name in enumerate(names)}
    motions = dict.fromkeys(contest.motion for contest, _ in games)
    claims = {motion: number for number, motion in enumerate(motions)}
    wins = np.zeros((len(claims), len(names), len(names)))
    pro: list[float] = []
    for contest, outcome in games:
        (opener, replier), by = contest.speakers, debaters_of(contest)
        share = share_of(outcome, opener)
        if share is None:
            continue
        a, b, claim = place[by[opener]], place[by[replier]], claims[contest.motion]
        wins[claim, a, b] += share
        wins[claim, b, a] += 1 - share
        pro.append(share if contest.sides[opener] == "pro" else 1 - share)
    ratings = rate(wins, prior=prior, samples=samples, seed=seed)
    order = sorted(range(len(names)), key=lambda one: (-ratings[one].value, names[one]))
    total = wins.sum(axis=0)
    met = np.rint(total + total.T).astype(int)
    best = ratings[order[0]]
    standings = [
        _standing(name, ratings[one], best, games, float(total[one].sum()), costs.get(name))
        for one, name in ((one, names[one]) for one in order)
    ]
    return Tournament(
        **settings,
        claims=len(claims),
        debates=len(games),
        undecided=len(games) - len(pro),
        pro_share=sum(pro) / len(pro) if pro else None,
        prior=prior,
        samples=samples,
        seed=seed,
        standings=tuple(standings),
        shares=tuple(
            tuple(float(total[a, b]) / int(met[a, b]) if met[a, b] else None for b in order)
            for a in order
        ),
        met=tuple(tuple(int(met[a, b]) for b in order) for a in order),
    )


def share_of(outcome: Outcome, speaker: str) -> float | None:
    """Return 1 for a win, .5 for a tie, 0 for a loss, and None without a verdict."""
    if outcome.winner is None:
        return None
    return 0.5 if outcome.winner == TIE else float(outcome.winner == speaker)


def _standing(
    name: str,
    rating: Measured,
    best: Measured,
    games: JudgedDebates,
    points: float,
    costs: Costs | None,
) -> Standing:
    """Count wins, speeches and words of a debater; `points` are its wins, ties as halves."""
    kinds = {1.0: "wins", 0.5: "ties", 0.0: "losses", None: "undecided"}
    count = dict.fromkeys((*kinds.values(), "speeches", "fallbacks"), 0)
    words = 0
    for contest, outcome in games:
        for speaker, debater in debaters_of(contest).items():
            if debater != name:
                continue
            count[kinds[share_of(outcome, speaker)]] += 1
            speeches = [one for one in contest.speeches if one.speaker == speaker]
            count["speeches"] += len(speeches)
            count["fallbacks"] += sum(FALLBACK in (one.model_extra or {}) for one in speeches)
            words += sum(len(one.text.split()) for one in speeches)
    (low, high), decided = rating.interval, count["wins"] + count["ties"] + count["losses"]
    return Standing(
        name=name,
        rating=rating.value,
        low=low,
        high=high,
        differs=None if low is None else differs(best, rating),
        share=points / decided if decided else None,
        words=words / count["speeches"] if count["speeches"] else None,
        asked=costs,
        **count,
    )


def _matrix(result: Tournament) -> Table:
    count = len(result.standings)
    rows = []
    for number, (one, shares) in enumerate(zip(result.standings, result.shares, strict=True), 1):
        cells = [
            NONE if at == number else format_share(share) for at, share in enumerate(shares, 1)
        ]
        rows.append([f"{number:2} {one.name}", *cells])
    return Table(["share of wins against", *(str(number) for number in range(1, count + 1))], rows)


def _notes(result: Tournament) -> Iterator[str]:
    claims = "1 claim" if result.claims == 1 else f"{result.claims} claims"
    note = f"{result.debates} debates on {claims}, judged by {result.judge}"
    if result.pro_share is not None:
        note += f"; the side for the claim won {format_share(result.pro_share)}"
    yield note
    if result.undecided:
        yield f"{result.undecided} debates have no verdict and do not count"
    yield from result.fallbacks()
