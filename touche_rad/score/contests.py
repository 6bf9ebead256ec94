"""Panels' verdicts on whole debates against what humans decided, beside constant predictors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from touche_rad import files
from touche_rad.contest import TIE, Contest
from touche_rad.errors import InputError
from touche_rad.files.contests import Judgement
from touche_rad.score import verdicts as v
from touche_rad.score.bootstrap import interval, weights
from touche_rad.score.contest_bias import bias, same_winners
from touche_rad.score.contest_report import (
    Against,
    Basis,
    ContestReport,
    ContestRow,
    means,
    published,
)
from touche_rad.score.contest_winners import all_named, judge_of, of_both, told_of, winner_of
from touche_rad.score.naming import names

Known = dict[str, Contest]


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
        runs: Outcomes; several of one panel are its repeats.
        truth: Contests with `gold`.
        samples: Bootstrap draws of debates.
        seed: For the draws.
        against: Whether errors are measured against each debate's winner, or against each vote.
        bad: What happens to bad lines.
    """
    known = _known(truth)
    judged = {name: _judged(path, known, bad) for name, path in zip(names(runs), runs, strict=True)}
    rows: list[ContestRow] = []
    for dimension in _dimensions(known):
        contests = [one for one in known.values() if v.gold_of(one, dimension)]
        if contests:
            rows += _Scale(dimension, contests, samples, seed, against).rows(judged)
    if against == "votes" and all(row.rmse is None for row in rows):
        raise InputError(truth, "no contest says how many voted for whom: `gold.votes` is expected")
    return ContestReport(
        truth=truth.name, against=against, debates=len(known), samples=samples, seed=seed,
        rows=tuple(rows),
        biases=tuple(bias(name, known, of_run) for name, of_run in judged.items()),
        same=tuple(same_winners(known, judged)), published=published(),
        missing={
            name: lost for name, of_run in judged.items()
            if (lost := tuple(key for key in known if key not in of_run))
        },
    )  # fmt: skip


def _dimensions(known: Known) -> list[str]:
    told = dict.fromkeys(name for contest in known.values() for name in contest.gold)
    return [name for name in told if name != "votes"]


def _known(truth: Path) -> Known:
    found: Known = {}
    for number, contest in enumerate(files.read_contests(truth), 1):
        key = contest.id or str(number)
        if key in found:
            raise InputError(truth, f"the contest {key!r} is there twice", line=number, field="id")
        strangers = {
            name
            for dimension in contest.gold
            if dimension != "votes"
            for name in v.gold_of(contest, dimension)
        } - {*contest.sides, TIE}
        if strangers:
            told = f"{sorted(strangers)[0]!r} did not speak: a speaker, or tie, is expected"
            raise InputError(truth, told, line=number, field="gold")
        found[key] = contest
    if not any(v.gold_of(one, name) for one in found.values() for name in _dimensions(found)):
        raise InputError(truth, "no contest says who won: `gold` is expected")
    return found


def _judged(path: Path, known: Known, bad: files.BadLines | None) -> dict[str, Judgement]:
    found: dict[str, Judgement] = {}
    for number, one in enumerate(files.read_outcomes(path, bad), 1):
        if one.id not in known:
            raise InputError(path, f"the truth has no contest {one.id!r}", line=number, field="id")
        if one.id in found:
            told = f"the contest {one.id!r} is judged twice"
            raise InputError(path, told, line=number, field="id")
        for outcome in filter(None, (one.outcome, one.swapped)):
            strangers = all_named(outcome, known[one.id]) - {*known[one.id].sides, TIE}
            if strangers:
                told = f"{sorted(strangers)[0]!r} did not speak, and is named a winner"
                raise InputError(path, told, line=number, field="outcome")
        found[one.id] = one
    return found


Winners = Sequence[str | None]


@dataclass(frozen=True)
class _Scale:
    """What runs are measured by in one dimension."""

    dimension: str
    contests: Sequence[Contest]
    samples: int
    seed: int
    against: Against

    def rows(self, judged: Mapping[str, Mapping[str, Judgement]]) -> Iterator[ContestRow]:
        """Yield a row or two for each run, then what looks at nothing."""
        runs = [row for name, of_run in judged.items() for row in self._run(name, of_run)]
        yield from runs
        yield from means(runs, {name: judge_of(of_run) for name, of_run in judged.items()})
        for name, predicts in v.constants(self.contests, self.dimension).items():
            yield self._row(name, "constant", [predicts(one) for one in self.contests])
        yield self._random()

    def _run(self, name: str, of_run: Mapping[str, Judgement]) -> Iterator[ContestRow]:
        outcomes = [of_run[one.id].outcome if one.id in of_run else None for one in self.contests]
        if not any(
            o is not None and self.dimension in told_of(o, self.dimension) for o in outcomes
        ):
            return
        leans = [
            v.leaning(contest, outcome, self.dimension) if outcome else None
            for contest, outcome in zip(self.contests, outcomes, strict=True)
        ]
        named = [winner_of(one, self.dimension) for one in outcomes]
        yield self._row(name, "winner", named, leans)
        by_score = [of_both(one, "by_score", self.dimension) for one in outcomes]
        if any(by_score):
            yield self._row(name, "score", by_score, leans)

    def _truth(self, contest: Contest) -> Mapping[float, int]:
        return v.truths(contest, self.dimension, votes=self.against == "votes")

    def _row(
        self, run: str, basis: Basis, winners: Winners, leans: Sequence[float | None] = ()
    ) -> ContestRow:
        right = [
            won in v.gold_of(one, self.dimension)
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
            if lean is not None and (truth := v.truths(one, self.dimension))
        ]
        return ContestRow(
            run=run, dimension=self.dimension, basis=basis, debates=len(self.contests),
            completed=sum(completed) / len(completed), accuracy=v.share(right),
            accuracy_low=low, accuracy_high=high,
            accuracy_completed=v.share(
                [one for one, done in zip(right, completed, strict=True) if done]
            ),
            rmse=v.root_mean_square(whole), mae=v.mean_absolute(whole),
            rmse_low=None if bottom is None else 100 * bottom**0.5,
            rmse_high=None if top is None else 100 * top**0.5,
            **v.correlations([lean for lean, _ in pairs], [value for _, value in pairs]),
        )  # fmt: skip

    def _random(self) -> ContestRow:
        """A guess at random, as it does on average."""
        ties = all(v.two_sided(one) for one in self.contests)
        shares = [v.chance(one, v.gold_of(one, self.dimension), ties=ties) for one in self.contests]
        errors: list[v.Error] = [
            (guess - at, times)
            for one in self.contests if ties
            for at, times in self._truth(one).items()
            for guess in (0.0, 0.5, 1.0)
        ]  # fmt: skip
        mean = sum(shares) / len(shares)
        return ContestRow(
            run="at random", dimension=self.dimension, basis="constant",
            debates=len(self.contests), completed=1.0, accuracy=mean, accuracy_completed=mean,
            rmse=v.root_mean_square(errors), mae=v.mean_absolute(errors),
        )  # fmt: skip

    def _drawn(
        self, values: Sequence[float], counted: Sequence[float]
    ) -> tuple[float | None, float | None]:
        """The middle 95 % of a mean over debates drawn anew; draws that hold none are left out."""
        sums, counts = np.array(values), np.array(counted)
        if len(values) < 2 or not counts.any():
            return None, None
        means: list[np.ndarray] = []
        for drawn in weights(len(values), self.samples, self.seed):
            of = drawn @ counts
            means.append((drawn @ sums)[of > 0] / of[of > 0])
        return interval(np.concatenate(means))
