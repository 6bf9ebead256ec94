"""Score panels' verdicts on whole debates against human decisions and constant predictors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np

from touche_rad import files
from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.contests import verdicts as v
from touche_rad.contests.score_report import (
    Against,
    Basis,
    BiasRow,
    ContestReport,
    ContestRow,
    SameRow,
    means,
    published,
)
from touche_rad.contests.side_scores import SCORES, people_scores, side_rows
from touche_rad.errors import InputError
from touche_rad.files.contests import Judgement
from touche_rad.score.measures import correlations
from touche_rad.score.naming import names
from touche_rad.score.significance import interval, weights

NO_DIMENSIONS: Final = ("votes", SCORES)
"""Keys of `gold` that name no winner."""


def named_winners(outcome: Outcome, contest: Contest) -> set[str]:
    """Return everyone that an outcome names as a winner of a scored dimension."""
    tables = [outcome.winners, *(outcome.details.get(key) for key in ("by_verdict", "by_score"))]
    named = [of.get(name) for of in tables if isinstance(of, Mapping) for name in contest.gold]
    return {one for one in (outcome.winner, *named) if isinstance(one, str)}


def scored_dimensions(outcome: Outcome, dimension: str) -> set[str]:
    """Return the dimensions with a winner or a score."""
    scored = {name for marks in outcome.scores.values() for name in marks}
    return {*outcome.winners, *scored, *(["general"] if dimension == "general" else [])}


def named_winner(outcome: Outcome | None, dimension: str) -> str | None:
    """Return the winner that the panel named, even if its outcome is decided by scores."""
    if outcome is None:
        return None
    by_verdict = outcome.details.get("by_verdict")
    if isinstance(by_verdict, Mapping) and dimension in by_verdict:
        return alternative_winner(outcome, "by_verdict", dimension)
    if dimension == "general":
        return outcome.winner
    return outcome.winners.get(dimension)


def alternative_winner(outcome: Outcome | None, key: str, dimension: str) -> str | None:
    """Return the winner `by_verdict` or `by_score`, for panels that report both."""
    winners = outcome.details.get(key) if outcome else None
    winner = winners.get(dimension) if isinstance(winners, Mapping) else None
    return winner if isinstance(winner, str) else None


def judge_of(of_run: Mapping[str, Judgement]) -> str:
    """Return the judge of a run, or "" if there are several."""
    judges = {one.judge for one in of_run.values()}
    return judges.pop() if len(judges) == 1 else ""


Contests = Mapping[str, Contest]


def bias(run: str, known: Contests, judged: Mapping[str, Judgement]) -> BiasRow:
    """Count how often con, the last speaker and the longest speaker win, and flips by swapping."""
    pairs = [(known[key], one) for key, one in judged.items()]
    decided = [
        (contest, one.outcome.winner)
        for contest, one in pairs
        if one.outcome.winner not in (None, TIE)
    ]
    golden = [
        (contest, winner)
        for contest, _ in pairs
        if len(gold := v.gold_winners(contest, "general")) == 1
        and (winner := next(iter(gold))) != TIE
    ]
    both = [
        (contest, one.outcome.winner, one.swapped.winner)
        for contest, one in pairs
        if one.swapped is not None and one.outcome.winner and one.swapped.winner
    ]
    return BiasRow(
        run=run,
        debates=len(pairs),
        swapped=len(both),
        con=v.share([c.sides[w] == "con" for c, w in decided if w is not None]),
        con_gold=v.share([c.sides[w] == "con" for c, w in golden]),
        last=v.share([c.speeches[-1].speaker == w for c, w in decided if c.speeches]),
        last_gold=v.share([c.speeches[-1].speaker == w for c, w in golden if c.speeches]),
        longest=v.share([v.longest_speaker(c) == w for c, w in decided if v.longest_speaker(c)]),
        longest_gold=v.share(
            [v.longest_speaker(c) == w for c, w in golden if v.longest_speaker(c)]
        ),
        flipped=v.share([before != after for _, before, after in both]),
        stays_with_side=v.share(
            [
                TIE not in (before, after) and contest.sides[before] != contest.sides[after]
                for contest, before, after in both
            ]
        ),
    )


def same_winners(
    known: Contests, judged: Mapping[str, Mapping[str, Judgement]]
) -> Iterator[SameRow]:
    """Compare each pair of runs on the debates that both judged."""
    for first, second in combinations(judged, 2):
        shared = [key for key in known if key in judged[first] and key in judged[second]]
        pairs = [
            (judged[first][key].outcome.winner, judged[second][key].outcome.winner)
            for key in shared
        ]
        same = v.same_winner(pairs)
        if same is not None:
            yield SameRow(
                first=first, second=second, debates=len(shared), same=same[0], kappa=same[1]
            )


def score_contests(
    runs: Sequence[Path],
    truth: Path,
    *,
    samples: int = 10_000,
    seed: int = 0,
    against: Against = "winner",
    bad: files.BadLines | None = None,
) -> ContestReport:
    """Score runs of panels against contests with known winners.

    Args:
        runs: Outcomes files; several of one panel are repeats.
        truth: Contests with `gold`: winners, or people's scores of the sides, or both.
        samples: Number of bootstrap samples of debates.
        seed: Random seed of the bootstrap.
        against: Compute errors against the winner of each debate, or against each vote.
        bad: What to do with bad lines of the runs.
    """
    known = _known(truth)
    judgements = {
        name: _judged(path, known, bad) for name, path in zip(names(runs), runs, strict=True)
    }
    rows: list[ContestRow] = []
    for dimension in _dimensions(known):
        contests = [one for one in known.values() if v.gold_winners(one, dimension)]
        if contests:
            rows += _Scale(dimension, contests, samples, seed, against).rows(judgements)
    if against == "votes" and all(row.rmse is None for row in rows):
        raise InputError(
            truth, "--votes needs the number of votes in `gold.votes`, and no contest has it"
        )
    return ContestReport(
        truth=truth.name,
        against=against,
        debates=len(known),
        samples=samples,
        seed=seed,
        rows=tuple(rows),
        biases=tuple(bias(name, known, of_run) for name, of_run in judgements.items()),
        same=tuple(same_winners(known, judgements)),
        published=published(),
        sides=tuple(
            row
            for name, of_run in judgements.items()
            for row in side_rows(name, known, {key: one.outcome for key, one in of_run.items()})
        ),
        missing={
            name: lost
            for name, of_run in judgements.items()
            if (lost := tuple(key for key in known if key not in of_run))
        },
    )


def _dimensions(known: Contests) -> list[str]:
    names = dict.fromkeys(name for contest in known.values() for name in contest.gold)
    return [name for name in names if name not in NO_DIMENSIONS]


def _known(truth: Path) -> Contests:
    contests: dict[str, Contest] = {}
    scored = False
    for number, contest in enumerate(files.read_contests(truth), 1):
        key = contest.id or str(number)
        if key in contests:
            raise InputError(truth, f"duplicate contest {key!r}", line=number, field="id")
        strangers = {
            name
            for dimension in contest.gold
            if dimension not in NO_DIMENSIONS
            for name in v.gold_winners(contest, dimension)
        } - {*contest.sides, TIE}
        if strangers:
            message = f"{sorted(strangers)[0]!r} is not a speaker: expected a speaker or tie"
            raise InputError(truth, message, line=number, field="gold")
        try:
            scored = bool(people_scores(contest)) or scored
        except ValueError as error:
            raise InputError(truth, str(error), line=number, field="gold.scores") from None
        contests[key] = contest
    won = any(
        v.gold_winners(one, name) for one in contests.values() for name in _dimensions(contests)
    )
    if not won and not scored:
        raise InputError(
            truth, "no contest has a winner in `gold`, or people's scores in `gold.scores`"
        )
    return contests


def _judged(path: Path, known: Contests, bad: files.BadLines | None) -> dict[str, Judgement]:
    judgements: dict[str, Judgement] = {}
    for number, one in enumerate(files.read_outcomes(path, bad), 1):
        if one.id not in known:
            raise InputError(
                path,
                f"unknown contest {one.id!r}: the truth does not have it",
                line=number,
                field="id",
            )
        if one.id in judgements:
            message = f"duplicate verdict on the contest {one.id!r}"
            raise InputError(path, message, line=number, field="id")
        for outcome in filter(None, (one.outcome, one.swapped)):
            strangers = named_winners(outcome, known[one.id]) - {*known[one.id].sides, TIE}
            if strangers:
                message = f"the winner {sorted(strangers)[0]!r} is not a speaker of the debate"
                raise InputError(path, message, line=number, field="outcome")
        judgements[one.id] = one
    return judgements


Winners = Sequence[str | None]


@dataclass(frozen=True)
class _Scale:
    """Scores runs on one dimension."""

    dimension: str
    contests: Sequence[Contest]
    samples: int
    seed: int
    against: Against

    def rows(self, judged: Mapping[str, Mapping[str, Judgement]]) -> Iterator[ContestRow]:
        """Yield the rows of each run, the means of repeats, and the constant predictors."""
        runs = [row for name, of_run in judged.items() for row in self._run(name, of_run)]
        yield from runs
        yield from means(runs, {name: judge_of(of_run) for name, of_run in judged.items()})
        for name, predicts in v.constant_predictors(self.contests, self.dimension).items():
            yield self._row(name, "constant", [predicts(one) for one in self.contests])
        yield self._random()

    def _run(self, name: str, of_run: Mapping[str, Judgement]) -> Iterator[ContestRow]:
        outcomes = [of_run[one.id].outcome if one.id in of_run else None for one in self.contests]
        if not any(
            o is not None and self.dimension in scored_dimensions(o, self.dimension)
            for o in outcomes
        ):
            return
        leans = [
            v.score_difference(contest, outcome, self.dimension) if outcome else None
            for contest, outcome in zip(self.contests, outcomes, strict=True)
        ]
        named = [named_winner(one, self.dimension) for one in outcomes]
        yield self._row(name, "winner", named, leans)
        by_score = [alternative_winner(one, "by_score", self.dimension) for one in outcomes]
        if any(by_score):
            yield self._row(name, "score", by_score, leans)

    def _truth(self, contest: Contest) -> Mapping[float, int]:
        return v.gold_values(contest, self.dimension, votes=self.against == "votes")

    def _row(
        self, run: str, basis: Basis, winners: Winners, leans: Sequence[float | None] = ()
    ) -> ContestRow:
        right = [
            won in v.gold_winners(one, self.dimension)
            for won, one in zip(winners, self.contests, strict=True)
        ]
        errors: list[list[v.Error]] = [
            [(v.value(one, won) - at, times) for at, times in self._truth(one).items()]
            if won is not None
            else []
            for one, won in zip(self.contests, winners, strict=True)
        ]
        whole = [error for of_one in errors for error in of_one]
        completed = [won is not None for won in winners]
        low, high = self._drawn([float(one) for one in right], [1.0] * len(right))
        bottom, top = self._drawn(
            [sum(times * error**2 for error, times in of_one) for of_one in errors],
            [float(sum(times for _, times in of_one)) for of_one in errors],
        )
        pairs = [
            (lean, next(iter(truth)))
            for lean, one in zip(leans, self.contests, strict=bool(leans))
            if lean is not None and (truth := v.gold_values(one, self.dimension))
        ]
        return ContestRow(
            run=run,
            dimension=self.dimension,
            basis=basis,
            debates=len(self.contests),
            completed=sum(completed) / len(completed),
            accuracy=v.share(right),
            accuracy_low=low,
            accuracy_high=high,
            accuracy_completed=v.share(
                [one for one, done in zip(right, completed, strict=True) if done]
            ),
            rmse=v.root_mean_square(whole),
            mae=v.mean_absolute(whole),
            rmse_low=None if bottom is None else 100 * bottom**0.5,
            rmse_high=None if top is None else 100 * top**0.5,
            **correlations([lean for lean, _ in pairs], [value for _, value in pairs]),
        )

    def _random(self) -> ContestRow:
        """Return the expected row of a random guess."""
        ties = all(v.two_sided(one) for one in self.contests)
        shares = [
            v.chance_accuracy(one, v.gold_winners(one, self.dimension), ties=ties)
            for one in self.contests
        ]
        errors: list[v.Error] = [
            (guess - at, times)
            for one in self.contests
            if ties
            for at, times in self._truth(one).items()
            for guess in (0.0, 0.5, 1.0)
        ]
        mean = sum(shares) / len(shares)
        return ContestRow(
            run="at random",
            dimension=self.dimension,
            basis="constant",
            debates=len(self.contests),
            completed=1.0,
            accuracy=mean,
            accuracy_completed=mean,
            rmse=v.root_mean_square(errors),
            mae=v.mean_absolute(errors),
        )

    def _drawn(
        self, values: Sequence[float], counted: Sequence[float]
    ) -> tuple[float | None, float | None]:
        """Return the 95 % interval of a mean (bootstrap of debates)."""
        sums, counts = np.array(values), np.array(counted)
        if len(values) < 2 or not counts.any():
            return None, None
        means: list[np.ndarray] = []
        for drawn in weights(len(values), self.samples, self.seed):
            of = drawn @ counts
            means.append((drawn @ sums)[of > 0] / of[of > 0])
        return interval(np.concatenate(means))
