"""The scores of whole debates as records and as terminal lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, Literal

from pydantic import Field

from touche_rad.records import FrozenRecord
from touche_rad.score.reports import COMPARISON_COLUMNS, RANKS
from touche_rad.score.result import RunComparison, rank_text
from touche_rad.score.significance import FEWEST_FOR_INTERVAL
from touche_rad.score.tables import (
    INTERVAL,
    TRUTH,
    Columns,
    Notes,
    Part,
    Printed,
    cell,
    interval_cell,
    table,
)
from touche_rad.score.words import (
    between,
    ranking_in_words,
    too_few,
)

Against = Literal["winner", "votes"]
Basis = Literal["winner", "score", "constant"]

_AVERAGED: Final = (
    "completed",
    "accuracy",
    "accuracy_completed",
    "rmse",
    "mae",
    "pearson",
    "spearman",
    "kendall",
)


class ContestRow(FrozenRecord):
    """A run's scores on one dimension; errors are times 100, as in the papers."""

    run: str
    dimension: str
    basis: Basis
    """The named winner, the winner by scores, or a constant."""
    decides: bool = True
    """Whether this winner is the one in the file, which all other tables count."""
    rank: int | None = None
    """The rank by accuracy of what decides; constants and means of repeats have none."""
    place: int | None = None
    debates: int
    completed: float
    accuracy: float | None = None
    """Accuracy on all debates; a debate without a verdict is wrong."""
    accuracy_low: float | None = None
    accuracy_high: float | None = None
    accuracy_completed: float | None = None
    rmse: float | None = None
    rmse_low: float | None = None
    rmse_high: float | None = None
    mae: float | None = None
    pearson: float | None = None
    spearman: float | None = None
    kendall: float | None = None

    @property
    def label(self) -> str:
        """The run, or what else of it names a winner."""
        if self.decides:
            return self.run
        return f"verdicts of {self.run}" if self.basis == "winner" else f"scores of {self.run}"

    @property
    def rank_text(self) -> str:
        """The rank; a star for a constant."""
        return "*" if self.basis == "constant" else rank_text(self.rank, self.place)

    @property
    def interval_text(self) -> str:
        """The interval of the accuracy in percent."""
        # Means of repeats and random guesses have none, however many debates there are.
        cell_of = interval_cell if self.debates < FEWEST_FOR_INTERVAL else cell
        return cell_of("[{accuracy_low:share}, {accuracy_high:share}]", self)


def means(rows: Sequence[ContestRow], judges: Mapping[str, str]) -> Iterator[ContestRow]:
    """Yield the means of runs that are repeats of one panel, as in the papers."""
    repeats: dict[tuple[str, Basis, bool], list[ContestRow]] = {}
    for row in rows:
        if judges.get(row.run):
            repeats.setdefault((judges[row.run], row.basis, row.decides), []).append(row)
    for (judge, basis, decides), of_judge in repeats.items():
        if len(of_judge) > 1:
            averages = {}
            for name in _AVERAGED:
                column = [getattr(row, name) for row in of_judge]
                if None not in column:
                    averages[name] = fmean(column)
            yield ContestRow(
                run=f"mean of {len(of_judge)} runs of {judge}",
                dimension=of_judge[0].dimension,
                basis=basis,
                decides=decides,
                debates=of_judge[0].debates,
                **averages,
            )


class BiasRow(FrozenRecord):
    """Biases of a run's winners: side, order and length, and flips by swapping the sides."""

    run: str
    debates: int
    decided: int
    """Debates with a winner, without ties; shares are of these."""
    con: float | None
    """Share of decided debates that con wins."""
    con_gold: float | None
    last: float | None
    """Share of debates that the last speaker wins."""
    last_gold: float | None
    longest: float | None
    """Share of debates that the speaker with the most words wins."""
    longest_gold: float | None
    swapped: int
    flipped: float | None
    """Share of debates whose winner changes when the sides are swapped."""
    stays_with_side: float | None
    """Share of debates in which the same side wins after the swap, though others speak for it."""


class ShareRow(FrozenRecord):
    """How often each side wins by a run, as shares of its debates; `none`: without a winner."""

    run: str
    judge: str
    debates: int
    pro: float
    con: float
    tie: float
    none: float


class SameRow(FrozenRecord):
    """Agreement of two runs on the winner."""

    first: str
    second: str
    debates: int
    same: float
    kappa: float | None


class SideRow(FrozenRecord):
    """Correlation of a panel's scores of the sides with people's scores of them."""

    run: str
    dimension: str
    people: str
    """The dimension of people's scores, or `overall`."""
    sides: int
    """Number of samples: the speakers of all debates."""
    pearson: float | None = None
    spearman: float | None = None
    kendall: float | None = None


class MeanRow(FrozenRecord):
    """The mean score of a debater in a dimension, over its debates."""

    run: str
    debater: str
    dimension: str
    debates: int
    mean: float
    low: float | None = None
    high: float | None = None


class WinRow(MeanRow):
    """How often a debater wins a dimension; its mean is the share of wins, ties as halves.

    A win has 2 points, a tie 1: two debaters have 2.
    """

    wins: int
    ties: int
    points: float


class ContestReport(Printed):
    """The scores of runs on whole debates."""

    kind: Literal["contests"] = "contests"
    truth: str
    against: Against = "winner"
    """Errors are computed against the winner of a debate, or against each vote."""
    debates: int
    two_sided: int
    samples: int
    seed: int
    rows: Sequence[ContestRow]
    """Of each dimension, best first."""
    comparisons: Sequence[RunComparison] = ()
    shows_pairs: bool = Field(True, exclude=True)
    """Whether the terminal shows the comparisons."""
    shares: Sequence[ShareRow] = ()
    biases: Sequence[BiasRow] = ()
    same: tuple[SameRow, ...] = ()
    sides: Sequence[SideRow] = ()
    means: Sequence[MeanRow] = ()
    wins: Sequence[WinRow] = ()
    missing: Mapping[str, tuple[str, ...]] = {}
    refused: Mapping[str, str] = {}
    """Runs that could not be scored, and why."""

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of the runs and of the constant predictors, or else who won."""
        return (row.model_dump(mode="json") for row in self.rows or self.shares)

    @property
    def scored(self) -> Mapping[str, Sequence[ContestRow]]:
        """The rows of each dimension on which a run names winners."""
        rows: dict[str, list[ContestRow]] = {}
        for row in self.rows:
            rows.setdefault(row.dimension, []).append(row)
        runs = {row.dimension for row in self.rows if row.basis != "constant"}
        return {dimension: rows[dimension] for dimension in rows if dimension in runs}

    def sentences(self, dimension: str) -> list[str]:
        """Say how accurate the best panel is, and how it differs from others and from constants."""
        rows = self.scored[dimension]
        constants = [row for row in rows if row.basis == "constant"]
        # A random guess has no samples to compare with.
        best = next((row for row in constants if row.accuracy_low is not None), constants[0])
        first = next(row for row in rows if row not in constants)
        measure = f"accuracy on {dimension}"
        return [
            cell(
                "{label}: accuracy on {dimension} {accuracy:percent} (95 %: {interval_text}).",
                first,
            ),
            *(
                too_few("debates", best.debates)
                or ranking_in_words(
                    {row.label: row.accuracy or 0.0 for row in rows if row.rank},
                    {best.run: best.accuracy or 0.0},
                    "accuracy",
                    [row for row in self.comparisons if row.measure == measure],
                    measure,
                )
            ),
        ]

    def winners(self) -> Iterator[str]:
        """Say who won by each panel: its debaters, the best first, or else the sides."""
        for by_side in self.shares:
            debaters = [
                row for row in self.wins if (row.run, row.dimension) == (by_side.run, "general")
            ]
            debaters.sort(key=lambda row: -row.mean)
            texts = [f"{cell(_WON, row)} {between(row.low, row.high)}".rstrip() for row in debaters]
            won = "; ".join(texts) or cell(_BY_SIDE, by_side)
            yield f"{by_side.run}: {won}."

    def findings(self) -> Iterator[str]:
        """Say how often the best panel is right, or else who won by each panel."""
        for dimension in self.scored:
            yield from self.sentences(dimension)
        if not self.rows:
            yield from self.winners()

    def parts(self) -> Iterator[Part]:
        """Yield the result in words, the tables of the terminal output, and the method."""
        yield self.findings()
        for dimension, rows in self.scored.items():
            yield table({"{label}": dimension, **SCORE_COLUMNS}, rows)
        if any(row.rank != row.place for row in self.rows):
            yield [RANKS]
        yield table(COMPARISON_COLUMNS, self.comparisons if self.shows_pairs else ())
        yield table(SHARE_COLUMNS, () if self.rows else self.shares)
        yield table(SIDE_COLUMNS, self.sides)
        yield table(BIAS_COLUMNS, self.biases)
        yield [BIASES] if self.biases else []
        yield table(SAME_COLUMNS, self.same)
        yield self.missing_lines()
        lines = [f"{self.truth}: {self.debates} debates"]
        if not self.rows:
            lines[0] += ", no known winner"
        if self.against == "votes":
            lines.append("errors are computed against each vote")
        lines.append(
            f"95 % intervals from {self.samples} bootstrap samples of debates, seed {self.seed}"
        )
        yield Notes(lines)

    def missing_lines(self) -> Iterator[str]:
        """Yield a line for debates that the errors leave out, and each run that lacks verdicts."""
        if self.rows and self.two_sided < self.debates:
            yield (
                "RMSE, MAE and correlations: "
                f"{self.two_sided} of {self.debates} debates (two sides)"
            )
        for run, ids in self.missing.items():
            yield (
                f"{run}: {len(ids)} of {self.debates} debates have no verdict, "
                f"the first is {ids[0]}"
            )


_CORRELATION_COLUMNS: Columns = {
    "{pearson:.3f}": "Pearson",
    "{spearman:.3f}": "Spearman",
    "{kendall:.3f}": "Kendall",
}
SHARE_COLUMNS: Columns = {
    "{run}": "winners",
    "{judge}": "judge",
    "{debates}": "debates",
    "{pro:percent}": "pro",
    "{con:percent}": "con",
    "{tie:percent}": "tie",
    "{none:percent}": "none",
}
_WON: Final = "{debater} won {wins} and tied {ties} of {debates}, share of wins {mean:.2f}"
_BY_SIDE: Final = (
    "pro won {pro:percent} and con {con:percent} of {debates} debates, {tie:percent} ties, "
    "{none:percent} without a verdict"
)
SIDE_COLUMNS: Columns = {
    "{run}: {dimension}": "scores of sides",
    "{people}": "people's score",
    "{sides}": "sides",
    **_CORRELATION_COLUMNS,
}
SCORE_COLUMNS: Columns = {
    "{rank_text}": "rank",
    "{debates}": "debates",
    "{completed:percent}": "done",
    "{accuracy:percent}": "accuracy",
    "{interval_text}": INTERVAL,
    "{accuracy_completed:percent}": "of done",
    "{rmse:.2f}": "RMSE",
    "[{rmse_low:.1f}, {rmse_high:.1f}]": INTERVAL,
    "{mae:.2f}": "MAE",
    **_CORRELATION_COLUMNS,
}
BIAS_COLUMNS: Columns = {
    "{run}": "biases",
    "{decided}": "decided",
    "{con:percent}": "con wins",
    "{con_gold:percent}": TRUTH,
    "{last:percent}": "last speaker",
    "{last_gold:percent}": TRUTH,
    "{longest:percent}": "longest speaker",
    "{longest_gold:percent}": TRUTH,
    "{swapped}": "swapped",
    "{flipped:percent}": "winner changes",
    "{stays_with_side:percent}": "same side wins",
}
BIASES: Final = (
    "in a share of wins, a tie is half a win; the wins of pro and con are of the decided debates, "
    "without ties; same side wins: a side won before and after the swap, whoever spoke for it."
)
SAME_COLUMNS: Columns = {
    "{first} and {second}": "agreement",
    "{debates}": "debates",
    "{same:percent}": "same winner",
    "{kappa:.3f}": "kappa",
}
