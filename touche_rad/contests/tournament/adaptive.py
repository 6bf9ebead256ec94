"""Tournaments that play the most informative debates first, and stop when ratings are precise.

The debates are played in batches. A batch depends only on the results of the batches before, so an
interrupted tournament repeats its choices, and takes the results from the record.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

import anyio

from touche_rad.contest import Contest, Outcome
from touche_rad.contests.tournament.result import share_of
from touche_rad.contests.tournament.schedule import Schedule
from touche_rad.contests.two_sides import Game


@dataclass(frozen=True)
class Limits:
    """When an adaptive tournament ends."""

    until: float | None = None
    """The widest interval of a rating, in rating points."""
    games: int | None = None
    """The maximum number of debates in the folder."""

    @property
    def given(self) -> bool:
        """Whether there is a limit; without one, every debate is played."""
        return self.until is not None or self.games is not None


async def choose_games(
    games: Sequence[Game],
    names: Sequence[str],
    play: Callable[[Game], Awaitable[tuple[Contest, Outcome]]],
    limits: Limits,
    *,
    before: Collection[str],
    prior: float,
    samples: int,
    seed: int,
    workers: int,
    report: Callable[[int, int | None], None],
) -> tuple[set[str], float]:
    """Play until a limit is reached; return the ids of the debates, and the widest interval.

    Args:
        games: All debates of the tournament.
        names: The debaters.
        play: Plays and judges a debate, or returns its recorded result.
        limits: When to stop.
        before: The ids of the debates that the folder contains.
        prior: See `ratings.strengths`.
        samples: Number of bootstrap samples.
        seed: Random seed of the bootstrap.
        workers: Debates at a time.
        report: Called with the number of played debates and their maximum.
    """
    place = {name: number for number, name in enumerate(names)}
    claims: dict[str, int] = {}
    units: dict[tuple[int, int, int], list[Game]] = {}
    for game in games:
        claim = claims.setdefault(game.id.removesuffix(_pair_of(game)), len(claims))
        a, b = sorted((place[game.pro], place[game.con]))
        units.setdefault((claim, a, b), []).append(game)
    schedule = Schedule(len(names), len(claims), prior=prior, samples=samples, seed=seed)
    most = len(games) if limits.games is None else min(limits.games, len(games))
    batch = [unit for unit, of_unit in units.items() if any(game.id in before for game in of_unit)]
    chosen: set[str] = set()
    batch = batch or _next(schedule, limits, most)
    while batch:
        playing = [(unit[0], game) for unit in batch for game in units[unit]]
        results = await _play_all([game for _, game in playing], play, workers)
        for (claim, game), (contest, outcome) in zip(playing, results, strict=True):
            share = share_of(outcome, contest.speakers[0])
            schedule.add(claim, place[game.pro], place[game.con], share)
            chosen.add(game.id)
        report(len(chosen), most)
        batch = _next(schedule, limits, most - len(chosen))
    return chosen, float(schedule.widths().max())


def _next(schedule: Schedule, limits: Limits, left: int) -> list[tuple[int, int, int]]:
    """Return the next batch, in which each debater plays about once on each side."""
    return schedule.next_units(min(max(1, schedule.debaters // 2), left // 2), limits.until)


def _pair_of(game: Game) -> str:
    return f": {game.pro} v {game.con}"


async def _play_all(
    games: Sequence[Game],
    play: Callable[[Game], Awaitable[tuple[Contest, Outcome]]],
    workers: int,
) -> list[tuple[Contest, Outcome]]:
    found: dict[str, tuple[Contest, Outcome]] = {}
    limiter = anyio.CapacityLimiter(workers)

    async def one(game: Game) -> None:
        async with limiter:
            found[game.id] = await play(game)

    async with anyio.create_task_group() as group:
        for game in games:
            group.start_soon(one, game)
    return [found[game.id] for game in games]


def contest_in(line: str) -> Contest:
    """Parse a line that `contest_line` wrote."""
    record = json.loads(line)
    return Contest.model_validate({key: record[key] for key in record if key != "format"})


def outcome_in(line: str) -> Outcome:
    """Parse the outcome in a line that `judgement_line` wrote."""
    return Outcome.model_validate(json.loads(line)["outcome"])
