"""Score panels' verdicts on whole debates against human decisions and constant predictors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

from touche_rad import files
from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.contests import _verdicts as v
from touche_rad.contests._people import (
    PEOPLE,
    SCORES,
    mean_rows,
    people_scores,
    side_rows,
    win_rows,
)
from touche_rad.contests.score_report import (
    Against,
    Basis,
    BiasRow,
    ContestReport,
    ContestRow,
    SameRow,
    ShareRow,
    means,
)
from touche_rad.errors import InputError
from touche_rad.files.contests import Judgement, words_digest
from touche_rad.score.measures import correlations
from touche_rad.score.naming import each_run, names
from touche_rad.score.significance import ratio_interval

Contests = Mapping[str, Contest]
Judgements = Mapping[str, Judgement]
"""The verdicts of a run by contest."""

NO_DIMENSIONS: Final = ("votes", SCORES)
"""Keys of `gold` that name no winner."""


def named_winners(outcome: Outcome, contest: Contest) -> set[str]:
    """Return everyone that an outcome names as a winner of a scored dimension."""
    tables = [outcome.winners, *(outcome.details.get(key) for key in ("by_verdict", "by_score"))]
    named = [of.get(name) for of in tables if isinstance(of, Mapping) for name in contest.gold]
    return {one for one in (outcome.winner, *named) if isinstance(one, str)}


def is_scored(outcome: Outcome, dimension: str) -> bool:
    """Whether an outcome has a winner or a score of a dimension."""
    tables = (outcome.winners, *outcome.scores.values())
    return dimension == "general" or any(dimension in table for table in tables)


def winner_of(outcome: Outcome | None, dimension: str) -> str | None:
    """Return the winner of a dimension in the file."""
    if outcome is None:
        return None
    return outcome.decision if dimension == "general" else outcome.winners.get(dimension)


def winner_by(outcome: Outcome | None, key: str, dimension: str) -> str | None:
    """Return the winner `by_verdict` or `by_score`, for panels that report both."""
    winners = outcome.details.get(key) if outcome else None
    winner = winners.get(dimension) if isinstance(winners, Mapping) else None
    return winner if isinstance(winner, str) else None


def bias(run: str, contests: Contests, judgements: Judgements) -> BiasRow:
    """Count how often con, the last speaker and the longest speaker win, and flips by swapping."""
    pairs = [(contests[key], one) for key, one in judgements.items()]
    golds = [(contest, v.gold_winners(contest, "general")) for contest, _ in pairs]
    both = [
        (contest, one.outcome.winner, one.swapped.winner)
        for contest, one in pairs
        if one.swapped is not None and one.outcome.winner and one.swapped.winner
    ]
    winners = [(contest, one.outcome.winner) for contest, one in pairs]
    con, last, longest = _wins(winners)
    con_gold, last_gold, longest_gold = _wins(
        [(contest, next(iter(gold))) for contest, gold in golds if len(gold) == 1]
    )
    return BiasRow(
        run=run,
        debates=len(pairs),
        decided=sum(won not in (None, TIE) for _, won in winners),
        swapped=len(both),
        con=con,
        con_gold=con_gold,
        last=last,
        last_gold=last_gold,
        longest=longest,
        longest_gold=longest_gold,
        flipped=v.share([before != after for _, before, after in both]),
        stays_with_side=v.share(
            [
                TIE not in (before, after) and contest.sides[before] != contest.sides[after]
                for contest, before, after in both
            ]
        ),
    )


def share_row(run: str, contests: Contests, judgements: Judgements) -> ShareRow:
    """Return how often each side wins."""
    decided = [(contests[key].sides, one.outcome.decision) for key, one in judgements.items()]
    count = Counter(sides.get(won, won) if won else "none" for sides, won in decided)
    shares = {key: count[key] / (len(decided) or 1) for key in (*v.SIDES, TIE, "none")}
    judge = ", ".join(sorted({one.judge for one in judgements.values()}))
    return ShareRow(run=run, judge=judge, debates=len(decided), **shares)


def _wins(
    winners: Sequence[tuple[Contest, str | None]],
) -> tuple[float | None, float | None, float | None]:
    """Return how often con, the last speaker and the longest speaker win."""
    decided = [(contest, name) for contest, name in winners if name is not None and name != TIE]
    longest = [(v.longest_speaker(contest), name) for contest, name in decided]
    return (
        v.share([contest.sides[name] == "con" for contest, name in decided]),
        v.share([c.speeches[-1].speaker == name for c, name in decided if c.speeches]),
        v.share([speaker == name for speaker, name in longest if speaker]),
    )


def same_winners(contests: Contests, runs: Mapping[str, Judgements]) -> Iterator[SameRow]:
    """Compare each pair of runs on the debates of which both name a winner, with Cohen's kappa."""
    for (first, of_first), (second, of_second) in combinations(runs.items(), 2):
        shared = [key for key in contests if key in of_first and key in of_second]
        pairs = [
            (of_first[key].outcome.decision, of_second[key].outcome.decision) for key in shared
        ]
        decided = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not decided:
            continue
        count = len(decided)
        same = sum(a == b for a, b in decided) / count
        ours, theirs = Counter(a for a, _ in decided), Counter(b for _, b in decided)
        chance = sum(ours[name] * theirs[name] for name in ours) / count**2
        yield SameRow(
            first=first,
            second=second,
            debates=count,
            same=same,
            kappa=None if chance == 1 else (same - chance) / (1 - chance),
        )


def score_contests(
    runs: Sequence[Path],
    truth: Path,
    *,
    samples: int = 10_000,
    seed: int = 0,
    against: Against = "winner",
    bad: files.BadLines | None = None,
    tags: Sequence[str] | None = None,
) -> ContestReport:
    """Score runs of panels against contests; without known winners, count who won.

    Args:
        runs: Outcomes files; several of one panel are repeats.
        truth: Contests; with `gold` (winners, people's scores) the panels are compared with it.
        samples: Number of bootstrap samples of debates.
        seed: Random seed of the bootstrap.
        against: Compute errors against the winner of each debate, or against each vote.
        bad: What to do with bad lines of the runs.
        tags: Names of the runs, instead of those of their files.
    """
    contests = _read_truth(truth)
    refused: dict[str, str] = {}
    paths = dict(zip(tags or names(runs), runs, strict=True))
    judgements = each_run(paths, lambda _, path: _read_run(path, contests, bad), refused)
    rows: list[ContestRow] = []
    for dimension in _dimensions(contests):
        decided = [one for one in contests.values() if v.gold_winners(one, dimension)]
        if decided:
            rows += _Scale(dimension, decided, samples, seed, against).rows(judgements)
    if against == "votes" and all(row.rmse is None for row in rows):
        raise InputError(
            truth, "--votes needs the number of votes in `gold.votes`, and no contest has it"
        )
    scores = {
        name: {key: one.outcome.scores for key, one in of_run.items()}
        for name, of_run in judgements.items()
    }
    scores[PEOPLE] = {key: people_scores(one) for key, one in contests.items()}
    means_of = tuple(
        row
        for name, of_run in scores.items()
        for row in mean_rows(name, contests, of_run, samples, seed)
    )
    missing = {
        name: tuple(key for key in contests if key not in of_run)
        for name, of_run in judgements.items()
    }
    return ContestReport(
        truth=truth.name,
        against=against,
        debates=len(contests),
        two_sided=sum(map(v.two_sided, contests.values())),
        samples=samples,
        seed=seed,
        rows=tuple(rows),
        shares=tuple(share_row(name, contests, of_run) for name, of_run in judgements.items()),
        biases=tuple(bias(name, contests, of_run) for name, of_run in judgements.items()),
        same=tuple(same_winners(contests, judgements)),
        sides=tuple(
            row for name, of_run in judgements.items() for row in side_rows(name, contests, of_run)
        ),
        means=means_of,
        wins=tuple(
            row for name, of_run in judgements.items() for row in win_rows(name, contests, of_run)
        ),
        missing={name: keys for name, keys in missing.items() if keys},
        refused=refused,
    )


def _dimensions(contests: Contests) -> list[str]:
    names = dict.fromkeys(name for contest in contests.values() for name in contest.gold)
    return [name for name in names if name not in NO_DIMENSIONS]


def _read_truth(path: Path) -> Contests:
    contests: dict[str, Contest] = {}
    for number, contest in enumerate(files.read_contests(path), 1):
        key = contest.id or str(number)
        if key in contests:
            raise InputError(path, f"duplicate contest {key!r}", line=number, field="id")
        contests[key] = contest
        winners = [v.gold_winners(contest, name) for name in _dimensions({key: contest})]
        strangers = set().union(*winners) - {*contest.sides, TIE}
        if strangers:
            raise InputError(
                path,
                f"{min(strangers)!r} is not a speaker: expected a speaker or tie",
                line=number,
                field="gold",
            )
        try:
            people_scores(contest)
        except ValueError as error:
            raise InputError(path, str(error), line=number, field="gold.scores") from None
    return contests


def _read_run(path: Path, contests: Contests, bad: files.BadLines | None) -> Judgements:
    judgements: dict[str, Judgement] = {}
    for number, one in enumerate(files.read_outcomes(path, bad), 1):
        problem = ""
        if one.id not in contests:
            problem = f"unknown contest {one.id!r}: the truth does not have it"
        elif one.id in judgements:
            problem = f"duplicate verdict on the contest {one.id!r}"
        elif one.words not in ("", words_digest(contests[one.id])):
            problem = f"the verdict is on other words than the contest {one.id!r} of the truth has"
        if problem:
            raise InputError(path, problem, line=number, field="id")
        contest = contests[one.id]
        for outcome in filter(None, (one.outcome, one.swapped)):
            strangers = named_winners(outcome, contest) - {*contest.sides, *v.SIDES, TIE}
            if strangers:
                raise InputError(
                    path,
                    f"the winner {min(strangers)!r} is not a speaker of the debate",
                    line=number,
                    field="outcome",
                )
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

    def rows(self, runs: Mapping[str, Judgements]) -> Iterator[ContestRow]:
        """Yield the rows of each run, the means of repeats, and the constant predictors."""
        rows = [row for name, of_run in runs.items() for row in self._run(name, of_run)]
        yield from rows
        judges = {name: {one.judge for one in of_run.values()} for name, of_run in runs.items()}
        yield from means(rows, {name: min(of) for name, of in judges.items() if len(of) == 1})
        for name, winners in v.constant_predictors(self.contests).items():
            yield self._row(name, "constant", winners)
        outcomes = (one.outcome for of_run in runs.values() for one in of_run.values())
        if self.dimension == "general" and any(one.decision != one.winner for one in outcomes):
            for side in v.SIDES:
                yield self._row(f"always side {side}", "constant", [side] * len(self.contests))
        yield self._random()

    def _run(self, name: str, of_run: Judgements) -> Iterator[ContestRow]:
        outcomes = [of_run[one.id].outcome if one.id in of_run else None for one in self.contests]
        if not any(one is not None and is_scored(one, self.dimension) for one in outcomes):
            return
        leans = [
            v.score_difference(contest, outcome, self.dimension) if outcome else None
            for contest, outcome in zip(self.contests, outcomes, strict=True)
        ]
        in_file = [winner_of(one, self.dimension) for one in outcomes]
        by: dict[Basis, list[str | None]] = {
            "winner": [winner_by(one, "by_verdict", self.dimension) for one in outcomes],
            "score": [winner_by(one, "by_score", self.dimension) for one in outcomes],
        }
        by_scores = any(by["score"]) and by["score"] == in_file != by["winner"]
        decides: Basis = "score" if by_scores else "winner"
        by[decides] = in_file
        for basis in sorted(by, key=lambda one: one != decides):
            if basis == decides or any(by[basis]):
                own = basis == decides
                yield self._row(name, basis, by[basis], leans if own else (), decides=own)

    def _errors(self, contest: Contest, *guesses: float) -> list[v.Error]:
        truth = v.gold_values(contest, self.dimension, votes=self.against == "votes")
        return [(guess - value, times) for value, times in truth.items() for guess in guesses]

    def _row(
        self,
        run: str,
        basis: Basis,
        winners: Winners,
        leans: Sequence[float | None] = (),
        *,
        decides: bool = True,
    ) -> ContestRow:
        right = [
            v.is_right(one, won, self.dimension)
            for won, one in zip(winners, self.contests, strict=True)
        ]
        errors = [
            self._errors(one, v.value(one, won)) if won is not None else []
            for one, won in zip(self.contests, winners, strict=True)
        ]
        whole = [error for of_one in errors for error in of_one]
        completed = [won is not None for won in winners]
        low, high = ratio_interval(right, [1] * len(right), self.samples, self.seed)
        bottom, top = ratio_interval(
            [sum(times * error**2 for error, times in of_one) for of_one in errors],
            [sum(times for _, times in of_one) for of_one in errors],
            self.samples,
            self.seed,
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
            decides=decides,
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
        shares = []
        for contest in self.contests:
            options = {*contest.speakers, TIE} if ties else {*contest.speakers}
            right = options & v.gold_winners(contest, self.dimension)
            shares.append(len(right) / len(options))
        guessed = self.contests if ties else ()
        errors = [error for one in guessed for error in self._errors(one, 0.0, 0.5, 1.0)]
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
