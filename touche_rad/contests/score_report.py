"""The scores of whole debates as records and as terminal lines."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files as resources
from typing import Any, Final, Literal

from pydantic import Field

from touche_rad.score.result import Item, align_columns

Against = Literal["winner", "votes"]
Basis = Literal["winner", "score", "constant"]


_AVERAGED: Final = (
    "completed", "accuracy", "accuracy_completed", "rmse", "mae", "pearson", "spearman", "kendall",
)  # fmt: skip


class ContestRow(Item):
    """A run's scores on one dimension; errors are times 100, as in the papers."""

    run: str
    dimension: str
    basis: Basis
    """The named winner, the winner by scores, or a constant predictor."""
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


def means(rows: Sequence[ContestRow], judges: Mapping[str, str]) -> Iterator[ContestRow]:
    """Yield the means of runs that are repeats of one panel, as in the papers.

    Args:
        rows: The runs' scores on one dimension.
        judges: The judge of each run.
    """
    repeats: dict[tuple[str, Basis], list[ContestRow]] = {}
    for row in rows:
        if judges.get(row.run):
            repeats.setdefault((judges[row.run], row.basis), []).append(row)
    for (judge, basis), of_one in repeats.items():
        if len(of_one) > 1:
            figures = {name: _mean([getattr(row, name) for row in of_one]) for name in _AVERAGED}
            yield ContestRow.model_validate({
                "run": f"mean of {len(of_one)} runs of {judge}", "basis": basis, **figures,
                "dimension": of_one[0].dimension, "debates": of_one[0].debates,
            })  # fmt: skip


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


class BiasRow(Item):
    """Biases of a run's winners: side, order and length, and flips by swapping the sides."""

    run: str
    debates: int
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


class SameRow(Item):
    """Agreement of two runs on the winner."""

    first: str
    second: str
    debates: int
    same: float
    kappa: float | None


class SideRow(Item):
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


class Published(Item):
    """A score published in a paper, on the paper's data with its models."""

    system: str
    data: str
    dimension: str
    measure: str
    value: float
    paper: str


class ContestReport(Item):
    """The scores of runs on whole debates."""

    kind: Literal["contests"] = "contests"
    truth: str
    against: Against = "winner"
    """Errors are computed against the winner of a debate, or against each vote."""
    debates: int
    samples: int
    seed: int
    rows: tuple[ContestRow, ...]
    biases: tuple[BiasRow, ...] = ()
    same: tuple[SameRow, ...] = ()
    sides: tuple[SideRow, ...] = ()
    published: tuple[Published, ...] = Field(default=())
    missing: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON."""
        return self.model_dump(mode="json")

    def lines(self) -> list[str]:
        """Return the report as lines for the terminal."""
        return lines(self)


def published() -> tuple[Published, ...]:
    """Return the scores published in the papers."""
    published = tomllib.loads(resources(__package__).joinpath("published.toml").read_text("utf-8"))
    return tuple(figure for table in published["table"] for figure in _figures(table))


def _figures(table: Mapping[str, Any]) -> Iterator[Published]:
    for system, *values in table["rows"]:
        for measure, value in zip(table["measures"], values, strict=True):
            if value != "":
                yield Published(
                    system=system, data=table["data"], measure=measure, value=value,
                    dimension=table.get("dimension", "general"), paper=table["paper"],
                )  # fmt: skip


_NONE = "–"
_CORRELATIONS = ("Pearson", "Spearman", "Kendall")
_BASES = {"winner": "named winner", "score": "winner by scores", "constant": "constant"}


def lines(report: ContestReport) -> list[str]:
    """Format a report for the terminal."""
    parts = [
        [f"{report.truth}: {report.debates} debates",
         *(["errors are computed against each vote"] if report.against == "votes" else []),
         f"95 % intervals from {report.samples} bootstrap samples of debates, seed {report.seed}"],
        *(_dimension(report, name) for name in dict.fromkeys(row.dimension for row in report.rows)),
        list(_sides(report)), list(_biases(report)), list(_same(report)), list(_published(report)),
        [f"{run}: {len(lost)} of {report.debates} debates have no verdict, the first is {lost[0]}"
         for run, lost in report.missing.items()],
    ]  # fmt: skip
    return [line for part in parts if part for line in (*part, "")][:-1]


def _dimension(report: ContestReport, name: str) -> list[str]:
    rows = [row for row in report.rows if row.dimension == name]
    head = (name, "", "debates", "done", "accuracy", "95 %", "of done", "RMSE", "95 %", "MAE",
            "Pearson", "Spearman", "Kendall")  # fmt: skip
    return align_columns([head, *map(_row, rows)])


def _row(row: ContestRow) -> tuple[str, ...]:
    return (
        row.run, _BASES[row.basis], str(row.debates), _percent(row.completed),
        _percent(row.accuracy), _range(row.accuracy_low, row.accuracy_high, 100),
        _percent(row.accuracy_completed), _number(row.rmse), _range(row.rmse_low, row.rmse_high),
        _number(row.mae), _number(row.pearson, 3), _number(row.spearman, 3),
        _number(row.kendall, 3),
    )  # fmt: skip


def _sides(report: ContestReport) -> Iterator[str]:
    head = ("scores of sides", "dimension", "people's score", "sides", *_CORRELATIONS)
    if report.sides:
        rows = [
            (one.run, one.dimension, one.people, str(one.sides), _number(one.pearson, 3),
             _number(one.spearman, 3), _number(one.kendall, 3))
            for one in report.sides
        ]  # fmt: skip
        yield from align_columns([head, *rows])


def _biases(report: ContestReport) -> Iterator[str]:
    head = ("biases", "con wins", "(truth)", "last speaker", "(truth)", "longest speaker",
            "(truth)", "swapped", "winner flips", "side wins")  # fmt: skip
    if report.biases:
        yield from align_columns([head, *map(_bias, report.biases)])


def _bias(row: BiasRow) -> tuple[str, ...]:
    return (
        row.run, _percent(row.con), _percent(row.con_gold), _percent(row.last),
        _percent(row.last_gold), _percent(row.longest), _percent(row.longest_gold),
        str(row.swapped), _percent(row.flipped), _percent(row.stays_with_side),
    )  # fmt: skip


def _same(report: ContestReport) -> Iterator[str]:
    if report.same:
        rows = [(f"{one.first} and {one.second}", str(one.debates), _percent(one.same),
                 _number(one.kappa, 3)) for one in report.same]  # fmt: skip
        yield from align_columns([("agreement", "debates", "same winner", "kappa"), *rows])


def _published(report: ContestReport) -> Iterator[str]:
    if report.published:
        yield "Published in the papers, on their data with their models (not measured here):"
        measures = dict.fromkeys(one.measure for one in report.published)
        rows: dict[tuple[str, ...], dict[str, str]] = {}
        for one in report.published:
            key = (one.system, one.data, one.dimension, one.paper)
            digits = 3 if one.measure in _CORRELATIONS else 2
            rows.setdefault(key, {})[one.measure] = f"{one.value:.{digits}f}"
        yield from align_columns([
            ("system", "data", "dimension", *measures, "where"),
            *((*key[:3], *(values.get(name, "") for name in measures), key[3])
              for key, values in rows.items()),
        ])  # fmt: skip


def _number(value: float | None, digits: int = 2) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.1f} %"


def _range(low: float | None, high: float | None, times: float = 1) -> str:
    return _NONE if low is None or high is None else f"{times * low:.1f} to {times * high:.1f}"
