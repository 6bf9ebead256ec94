"""The result of a tournament: wins, ratings, costs, and its table for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.contests.tournament.ratings import rate
from touche_rad.contests.two_sides import DEBATERS, STAND_IN

FORMAT: Final = "touche-rad tournament 1"


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True)


class Standing(_Fact):
    """One debater."""

    name: str
    rating: float
    low: float | None
    high: float | None
    """The middle 95 % of the ratings when claims are drawn anew; None with one claim."""
    wins: int
    ties: int
    losses: int
    undecided: int
    """Debates without a verdict; no rating and no share counts them."""
    share: float | None
    """Wins of the decided debates, ties as halves."""
    speeches: int
    stand_ins: int
    """Speeches that a poorer debater gave in its place."""
    words: float | None
    """Words a speech, on average."""
    asked: Mapping[str, int] | None
    """What it asked of a model: calls, tokens; None where it asked none."""


class Tournament(_Fact):
    """All of it, best debater first."""

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
    """Wins of the side that speaks for the claim, ties as halves."""
    prior: float
    samples: int
    seed: int
    standings: tuple[Standing, ...]
    shares: tuple[tuple[float | None, ...], ...]
    """The row's share of wins against the column, in the order of the standings."""
    met: tuple[tuple[int, ...], ...]
    """How many decided debates that share is of."""


_COUNTED = ("wins", "ties", "losses", "undecided", "speeches", "stand_ins", "words")
Played = Sequence[tuple[Contest, Outcome]]


def format_share(share: float | None) -> str:
    """Return a share in two digits, so that it and its counterpart make one whole."""
    if share is None:
        return "–"
    larger = math.floor(100 * max(share, 1 - share) + 0.5 + 1e-9) / 100
    return f"{larger if share >= 0.5 else 1 - larger:.2f}"


def debaters_of(contest: Contest) -> Mapping[str, str]:
    """Return which debater was which speaker."""
    told = (contest.model_extra or {}).get(DEBATERS)
    return {str(who): str(name) for who, name in told.items()} if isinstance(told, dict) else {}


def result_of(
    played: Iterable[tuple[Contest, Outcome]],
    names: Sequence[str],
    costs: Mapping[str, Mapping[str, int]],
    told: Mapping[str, Any],
    *,
    prior: float,
    samples: int,
    seed: int,
) -> Tournament:
    """Count the wins, rate the debaters, and lay the result out.

    Args:
        played: Each debate with its verdict.
        names: The debaters.
        costs: What each asked of a model.
        told: What else is to be told: the judge, rounds, budgets.
        prior: See `ratings.strengths`.
        samples: Draws for the intervals.
        seed: For the draws.
    """
    games = list(played)
    place = {name: number for number, name in enumerate(names)}
    motions = dict.fromkeys(contest.motion for contest, _ in games)
    claims = {motion: number for number, motion in enumerate(motions)}
    wins = np.zeros((len(claims), len(names), len(names)))
    pro: list[float] = []
    for contest, outcome in games:
        (opener, replier), by = contest.speakers, debaters_of(contest)
        share = _share(outcome, opener)
        if share is None:
            continue
        a, b, claim = place[by[opener]], place[by[replier]], claims[contest.motion]
        wins[claim, a, b] += share
        wins[claim, b, a] += 1 - share
        pro.append(share if contest.sides[opener] == "pro" else 1 - share)
    rated = rate(wins, prior=prior, samples=samples, seed=seed)
    order = sorted(range(len(names)), key=lambda one: (-rated[one].rating, names[one]))
    total = wins.sum(axis=0)
    met = np.rint(total + total.T).astype(int)
    standings = []
    for one in order:
        count = _count(games, names[one])
        decided = count["wins"] + count["ties"] + count["losses"]
        standings.append(
            Standing(
                name=names[one], rating=rated[one].rating, low=rated[one].low,
                high=rated[one].high, wins=count["wins"], ties=count["ties"],
                losses=count["losses"], undecided=count["undecided"],
                share=float(total[one].sum()) / decided if decided else None,
                speeches=count["speeches"], stand_ins=count["stand_ins"],
                words=count["words"] / count["speeches"] if count["speeches"] else None,
                asked=costs.get(names[one]),
            )
        )  # fmt: skip
    return Tournament(
        **told, claims=len(claims), debates=len(games), undecided=len(games) - len(pro),
        pro_share=sum(pro) / len(pro) if pro else None, prior=prior, samples=samples, seed=seed,
        standings=tuple(standings),
        shares=tuple(
            tuple(float(total[a, b]) / int(met[a, b]) if met[a, b] else None for b in order)
            for a in order
        ),
        met=tuple(tuple(int(met[a, b]) for b in order) for a in order),
    )  # fmt: skip


def _share(outcome: Outcome, speaker: str) -> float | None:
    """Return what of a win a speaker has; None without a verdict."""
    if outcome.winner is None:
        return None
    return 0.5 if outcome.winner == TIE else float(outcome.winner == speaker)


def _count(games: Played, name: str) -> dict[str, int]:
    """Count what one debater did."""
    count = dict.fromkeys(
        ("wins", "ties", "losses", "undecided", "speeches", "stand_ins", "words"), 0
    )
    kinds = {1.0: "wins", 0.5: "ties", 0.0: "losses", None: "undecided"}
    for contest, outcome in games:
        for speaker, debater in debaters_of(contest).items():
            if debater != name:
                continue
            count[kinds[_share(outcome, speaker)]] += 1
            said = [one for one in contest.speeches if one.speaker == speaker]
            count["speeches"] += len(said)
            count["stand_ins"] += sum(STAND_IN in (one.model_extra or {}) for one in said)
            count["words"] += sum(len(one.text.split()) for one in said)
    return count


def lines(result: Tournament) -> list[str]:
    """Lay out the ratings, the matrix and what to know of them."""
    return [*_ratings(result), "", *_matrix(result), "", *_notes(result)]


def _ratings(result: Tournament) -> Iterator[str]:
    wide = max((8, *(len(one.name) for one in result.standings)))
    asked = any(one.asked for one in result.standings)
    head = f"{'debater':{wide}}  rating       95 %        won  tied  lost  share  words a speech"
    yield head + ("     calls     tokens" if asked else "")
    for one in result.standings:
        reach = "      –     " if one.low is None or one.high is None else (
            f"{one.low:5.0f} to {one.high:4.0f}"
        )  # fmt: skip
        row = (
            f"{one.name:{wide}}  {one.rating:6.0f}  {reach:>13}  {one.wins:5} {one.ties:5} "
            f"{one.losses:5}  {_number(one.share)}  {one.words or 0:14.1f}"
        )
        yield row + (_cost(one) if asked else "")


def _cost(one: Standing) -> str:
    if one.asked is None:
        return "         –          –"
    tokens = one.asked["prompt_tokens"] + one.asked["completion_tokens"]
    return f"{one.asked['calls'] + one.asked['from_cache']:10} {tokens:10}"


def _matrix(result: Tournament) -> Iterator[str]:
    wide = max((8, *(len(one.name) for one in result.standings)))
    yield "share of wins of the row against the column"
    yield " " * (wide + 4) + "  ".join(
        f"{number:>5}" for number in range(1, len(result.shares) + 1)
    )
    for number, (one, row) in enumerate(zip(result.standings, result.shares, strict=True), 1):
        cells = (
            "    –" if place == number else _number(share) for place, share in enumerate(row, 1)
        )
        yield f"{number:2} {one.name:{wide}} " + "  ".join(cells)


def _number(share: float | None) -> str:
    return f"{format_share(share):>5}"


def _claims(result: Tournament) -> str:
    return "1 claim" if result.claims == 1 else f"{result.claims} claims"


def _notes(result: Tournament) -> Iterator[str]:
    told = f"{result.debates} debates on {_claims(result)}, judged by {result.judge}"
    if result.pro_share is not None:
        told += f"; the side for the claim won {format_share(result.pro_share)}"
    yield told
    if result.undecided:
        yield f"{result.undecided} of them have no verdict, and count nowhere"
    for one in result.standings:
        if one.stand_ins:
            yield f"{one.name}: {one.stand_ins} of {one.speeches} speeches are by a stand-in"
