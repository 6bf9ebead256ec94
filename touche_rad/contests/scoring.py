"""Score panels' verdicts on whole debates against human decisions and constant predictors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from operator import eq
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from touche_rad import files
from touche_rad.contest import SIDES, TIE, Contest, Outcome
from touche_rad.contests._people import (
    PEOPLE,
    SCORES,
    mean_rows,
    people_scores,
    side_rows,
    win_rows,
)
from touche_rad.contests._verdicts import (
    Error,
    constant_predictors,
    gold_values,
    gold_winners,
    is_right,
    longest_speaker,
    mean_errors,
    score_difference,
    two_sided,
    winner_value,
)
from touche_rad.contests.score_report import (
    Against,
    Basis,
    BiasRow,
    ContestReport,
    ContestRow,
    MeanRow,
    SameRow,
    ShareRow,
    SideRow,
    WinRow,
    means,
)
from touche_rad.errors import InputError
from touche_rad.files.contests import Judgement, words_digest
from touche_rad.frozen import frozen
from touche_rad.samples import SAMPLES
from touche_rad.score.measures import correlations, mean
from touche_rad.score.naming import Runs, each_run, named
from touche_rad.score.result import RunComparison
from touche_rad.score.significance import Measured, rank, ratio_interval, resampled_sums

Contests = Mapping[str, Contest]
Judgements = Mapping[str, Judgement]
"""The verdicts of a run by contest."""

_NO_OUTCOME: Final = Outcome(winner=None)
NO_DIMENSIONS: Final = ("votes", SCORES)
"""Keys of `gold` that name no winner."""


def winner_by(outcome: Outcome, key: str, dimension: str) -> str | None:
    """Return the winner `by_verdict` or `by_score`, for panels that report both."""
    winners = outcome.details.get(key)
    winner = winners.get(dimension) if isinstance(winners, Mapping) else None
    return winner if isinstance(winner, str) else None


def bias_row(run: str, contests: Contests, judgements: Judgements) -> BiasRow:
    """Count how often con, the last speaker and the longest speaker win, and flips by swapping."""
    winners = []
    truth = []
    flips = []
    stays = []
    for key, judgement in judgements.items():
        contest = contests[key]
        winner = judgement.outcome.winner
        if winner not in (None, TIE):
            winners.append((contest, winner))
        gold = gold_winners(contest, "general")
        if len(gold) == 1 and TIE not in gold:
            truth.append((contest, min(gold)))
        swapped = judgement.swapped.winner if judgement.swapped else None
        if winner and swapped:
            flips.append(winner != swapped)
            stays.append(
                TIE not in (winner, swapped) and contest.sides[winner] != contest.sides[swapped]
            )
    return BiasRow(
        run=run,
        debates=len(judgements),
        decided=len(winners),
        swapped=len(flips),
        **_shares_of_wins(winners),
        **{f"{name}_gold": value for name, value in _shares_of_wins(truth).items()},
        flipped=mean(flips),
        stays_with_side=mean(stays),
    )


def _shares_of_wins(winners: Sequence[tuple[Contest, str]]) -> dict[str, float | None]:
    """Return how often con, the last speaker and the longest speaker win."""
    con = [contest.sides[winner] == "con" for contest, winner in winners]
    last = []
    longest = []
    for contest, winner in winners:
        if contest.speeches:
            last.append(contest.speeches[-1].speaker == winner)
        speaker = longest_speaker(contest)
        if speaker:
            longest.append(speaker == winner)
    return {"con": mean(con), "last": mean(last), "longest": mean(longest)}


def share_row(run: str, contests: Contests, judgements: Judgements) -> ShareRow:
    """Return how often each side wins."""
    count: Counter[str] = Counter()
    for key, judgement in judgements.items():
        winner = judgement.outcome.decision or "none"
        count[contests[key].sides.get(winner, winner)] += 1
    return ShareRow(
        run=run,
        judge=", ".join(sorted({judgement.judge for judgement in judgements.values()})),
        debates=len(judgements),
        **{key: count[key] / (len(judgements) or 1) for key in (*SIDES, TIE, "none")},
    )


def same_winners(runs: Mapping[str, Judgements]) -> Iterator[SameRow]:
    """Compare each pair of runs on the debates of which both name a winner, with Cohen's kappa."""
    for first, second in combinations(runs, 2):
        pairs = []
        for key in runs[first].keys() & runs[second].keys():
            winners = [runs[run][key].outcome.decision for run in (first, second)]
            if None not in winners:
                pairs.append(winners)
        if not pairs:
            continue
        count = len(pairs)
        same = sum(map(eq, *zip(*pairs, strict=True))) / count
        first_count, second_count = map(Counter, zip(*pairs, strict=True))
        chance = sum(first_count[name] * second_count[name] for name in first_count) / count**2
        yield SameRow(
            first=first,
            second=second,
            debates=count,
            same=same,
            kappa=None if chance == 1 else (same - chance) / (1 - chance),
        )


def score_contests(
    runs: Runs,
    truth: Path,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    against: Against = "winner",
    compare: bool = True,
    bad: files.BadLines | None = None,
) -> ContestReport:
    """Score runs of panels against contests; without known winners, count who won.

    Args:
        runs: Outcomes files, by name or named after themselves; several of one panel are repeats.
        truth: Contests; with `gold` (winners, people's scores) the panels are compared with it.
        samples: Number of bootstrap samples of debates.
        seed: Random seed of the bootstrap.
        against: Compute errors against the winner of each debate, or against each vote.
        compare: Whether the terminal shows the comparisons that the ranks are from.
        bad: What to do with bad lines of the runs.
    """
    contests = _read_truth(truth)
    refused: dict[str, str] = {}
    judgements_of = each_run(named(runs), lambda _, path: _read_run(path, contests, bad), refused)

    rows: list[ContestRow] = []
    comparisons: list[RunComparison] = []
    for dimension in _dimensions(*contests.values()):
        decided = {
            key: contest for key, contest in contests.items() if gold_winners(contest, dimension)
        }
        if decided:
            scorer = _Scorer(dimension, decided, samples, seed, against)
            ranked, compared = scorer.rank_runs(judgements_of)
            rows += ranked
            comparisons += compared
    if against == "votes" and all(row.rmse is None for row in rows):
        raise InputError(
            truth, "--votes needs the number of votes in `gold.votes`, and no contest has it"
        )

    shares = []
    biases = []
    sides: list[SideRow] = []
    run_means: list[MeanRow] = []
    wins: list[WinRow] = []
    missing = {}
    for name, judgements in judgements_of.items():
        shares.append(share_row(name, contests, judgements))
        biases.append(bias_row(name, contests, judgements))
        sides += side_rows(name, contests, judgements)
        scores = {key: judgement.outcome.scores for key, judgement in judgements.items()}
        run_means += mean_rows(name, contests, scores, samples, seed)
        wins += win_rows(name, contests, judgements, samples, seed)
        keys = tuple(sorted(contests.keys() - judgements))
        if keys:
            missing[name] = keys
    scores_of_people = {key: people_scores(contest) for key, contest in contests.items()}
    run_means += mean_rows(PEOPLE, contests, scores_of_people, samples, seed)
    return ContestReport(
        truth=truth.name,
        against=against,
        debates=len(contests),
        two_sided=sum(map(two_sided, contests.values())),
        samples=samples,
        seed=seed,
        rows=rows,
        comparisons=comparisons,
        shows_pairs=compare,
        shares=shares,
        biases=biases,
        same=tuple(same_winners(judgements_of)),
        sides=sides,
        means=run_means,
        wins=wins,
        missing=missing,
        refused=refused,
    )


def _dimensions(*contests: Contest) -> list[str]:
    """Return the dimensions in which winners are known."""
    keys: dict[str, None] = {}
    for contest in contests:
        keys |= dict.fromkeys(contest.gold)
    return [key for key in keys if key not in NO_DIMENSIONS]


def _read_truth(path: Path) -> Contests:
    contests: dict[str, Contest] = {}
    for number, contest in enumerate(files.read_contests(path), 1):
        key = contest.id or str(number)
        if key in contests:
            raise InputError(path, f"duplicate contest {key!r}", line=number, field="id")
        contests[key] = contest
        winners = [gold_winners(contest, dimension) for dimension in _dimensions(contest)]
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
    # Whatever the order of the file, the bootstrap samples are the same.
    return dict(sorted(contests.items()))


def _read_run(path: Path, contests: Contests, bad: files.BadLines | None) -> Judgements:
    judgements: dict[str, Judgement] = {}
    for number, judgement in enumerate(files.read_outcomes(path, bad), 1):
        key = judgement.id
        problem = ""
        if key not in contests:
            problem = f"unknown contest {key!r}: the truth does not have it"
        elif key in judgements:
            problem = f"duplicate verdict on the contest {key!r}"
        elif judgement.words not in ("", words_digest(contests[key])):
            problem = f"the verdict is on other words than the contest {key!r} of the truth has"
        if problem:
            raise InputError(path, problem, line=number, field="id")
        contest = contests[key]
        for outcome in filter(None, (judgement.outcome, judgement.swapped)):
            named = [outcome.winner]
            for winners in (
                outcome.winners,
                outcome.details.get("by_verdict"),
                outcome.details.get("by_score"),
            ):
                if isinstance(winners, Mapping):
                    named += [winners.get(dimension) for dimension in contest.gold]
            strangers = [
                winner
                for winner in named
                if isinstance(winner, str) and winner not in (*contest.sides, *SIDES, TIE)
            ]
            if strangers:
                raise InputError(
                    path,
                    f"the winner {min(strangers)!r} is not a speaker of the debate",
                    line=number,
                    field="outcome",
                )
        judgements[key] = judgement
    return dict(sorted(judgements.items()))


class _Scored(NamedTuple):
    row: ContestRow
    accuracy: Measured


@frozen
class _Scorer:
    """Scores runs on one dimension."""

    dimension: str
    decided: Contests
    samples: int
    seed: int
    against: Against

    @property
    def contests(self) -> Sequence[Contest]:
        """The contests that have a winner in this dimension."""
        return list(self.decided.values())

    def rank_runs(
        self, runs: Mapping[str, Judgements]
    ) -> tuple[list[ContestRow], Sequence[RunComparison]]:
        """Return the rows of runs, means of repeats and constants, and the runs' comparisons."""
        of_runs: list[_Scored] = []
        judge_of = {}
        for name, judgements in runs.items():
            of_runs += self._rows_of(name, judgements)
            judges = {judgement.judge for judgement in judgements.values()}
            if len(judges) == 1:
                judge_of[name] = min(judges)
        constants = [
            self._row(name, "constant", winners)
            for name, winners in constant_predictors(self.contests).items()
        ]
        names_sides = any(
            judgement.outcome.decision != judgement.outcome.winner
            for judgements in runs.values()
            for judgement in judgements.values()
        )
        if self.dimension == "general" and names_sides:
            for side in SIDES:
                winners = [side] * len(self.contests)
                constants.append(self._row(f"always side {side}", "constant", winners))

        measure = f"accuracy on {self.dimension}"
        deciding = [scored for scored in of_runs if scored.row.decides]
        ranking = rank(
            {scored.row.run: {measure: scored.accuracy} for scored in (*constants, *deciding)},
            measure,
            len(self.contests),
            baselines={scored.row.run for scored in constants} - runs.keys(),
        )
        fields_of = {ranked.run: ranked.model_dump() for ranked in ranking.runs}
        rows = [
            row.model_copy(update=fields_of[row.run] if row.decides else {}) for row, _ in of_runs
        ]
        rows += means(rows, judge_of)
        rows += [scored.row for scored in constants]
        rows.append(self._random())
        return sorted(rows, key=lambda row: -(row.accuracy or 0)), ranking.comparisons

    def _rows_of(self, name: str, judgements: Judgements) -> Iterator[_Scored]:
        """Yield the row of the winners in the file, and a row of the panel's other winners."""
        dimension = self.dimension
        is_scored = False
        in_file = []
        by_verdict = []
        by_score = []
        differences = []
        for key, contest in self.decided.items():
            outcome = judgements[key].outcome if key in judgements else _NO_OUTCOME
            winners = {**outcome.winners, "general": outcome.decision}
            if key in judgements:
                is_scored |= any(
                    dimension in table for table in (winners, *outcome.scores.values())
                )
            in_file.append(winners.get(dimension))
            by_verdict.append(winner_by(outcome, "by_verdict", dimension))
            by_score.append(winner_by(outcome, "by_score", dimension))
            differences.append(score_difference(contest, outcome, dimension))
        if not is_scored:
            return
        # The winners in the file may be those by score; then the other row has those by verdict.
        if any(by_score) and by_score == in_file != by_verdict:
            yield self._row(name, "score", in_file, differences)
            if any(by_verdict):
                yield self._row(name, "winner", by_verdict, decides=False)
        else:
            yield self._row(name, "winner", in_file, differences)
            if any(by_score):
                yield self._row(name, "score", by_score, decides=False)

    def _errors(self, contest: Contest, *guesses: float) -> list[Error]:
        truth = gold_values(contest, self.dimension, votes=self.against == "votes")
        return [(guess - value, times) for value, times in truth.items() for guess in guesses]

    def _row(
        self,
        run: str,
        basis: Basis,
        winners: Sequence[str | None],
        differences: Sequence[float | None] = (),
        *,
        decides: bool = True,
    ) -> _Scored:
        right = []
        right_of_completed = []
        errors: list[Error] = []
        squares = []
        weights = []
        for contest, winner in zip(self.contests, winners, strict=True):
            right.append(is_right(contest, winner, self.dimension))
            errors_of_contest = []
            if winner is not None:
                right_of_completed.append(right[-1])
                errors_of_contest = self._errors(contest, winner_value(contest, winner))
            errors += errors_of_contest
            squares.append(sum(times * error**2 for error, times in errors_of_contest))
            weights.append(sum(times for _, times in errors_of_contest))
        sums = resampled_sums(np.array(right), self.samples, self.seed)
        accuracy = Measured(sum(right) / len(right), None if sums is None else sums / len(right))
        low, high = accuracy.interval
        squares_low, squares_high = ratio_interval(squares, weights, self.samples, self.seed)

        known_differences = []
        values: list[float] = []
        # A row of other winners than those in the file comes without differences.
        for contest, difference in zip(self.contests, differences, strict=bool(differences)):
            truth = gold_values(contest, self.dimension)  # of the winner, so at most one value
            if difference is not None and truth:
                known_differences.append(difference)
                values.extend(truth)
        row = ContestRow(
            run=run,
            dimension=self.dimension,
            basis=basis,
            decides=decides,
            debates=len(self.contests),
            completed=len(right_of_completed) / len(right),
            accuracy=accuracy.value,
            accuracy_low=low,
            accuracy_high=high,
            accuracy_completed=mean(right_of_completed),
            **mean_errors(errors),
            rmse_low=None if squares_low is None else 100 * squares_low**0.5,
            rmse_high=None if squares_high is None else 100 * squares_high**0.5,
            **correlations(known_differences, values),
        )
        return _Scored(row, accuracy)

    def _random(self) -> ContestRow:
        """Return the expected row of a random guess."""
        ties = all(map(two_sided, self.contests))
        shares = []
        errors = []
        for contest in self.contests:
            options = {*contest.speakers, TIE} if ties else {*contest.speakers}
            shares.append(len(options & gold_winners(contest, self.dimension)) / len(options))
            if ties:
                errors += self._errors(contest, 0.0, 0.5, 1.0)
        mean = sum(shares) / len(shares)
        return ContestRow(
            run="at random",
            dimension=self.dimension,
            basis="constant",
            debates=len(self.contests),
            completed=1.0,
            accuracy=mean,
            accuracy_completed=mean,
            **mean_errors(errors),
        )
