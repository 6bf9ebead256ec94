"""The figures of whole debates as records, and those that the papers print."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files as resources
from typing import Any, Final, Literal

from pydantic import Field

from touche_rad.score.result import Fact

Against = Literal["winner", "votes"]
Basis = Literal["winner", "score", "constant"]


_AVERAGED: Final = (
    "completed", "accuracy", "accuracy_completed", "rmse", "mae", "pearson", "spearman", "kendall",
)  # fmt: skip


class ContestRow(Fact):
    """A run's figures on one dimension; errors are times 100, as in the papers."""

    run: str
    dimension: str
    basis: Basis
    """The winner that was named, the one that the scores give, or a constant predictor."""
    debates: int
    completed: float
    accuracy: float | None = None
    """Of all debates: what was not judged is wrong."""
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
    """Yield the mean figures of runs that are repeats of one panel, as the papers report theirs.

    Args:
        rows: The runs' figures on one dimension.
        judges: Who judged each run.
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


class BiasRow(Fact):
    """What a run's winners go by besides what is said."""

    run: str
    debates: int
    con: float | None
    """The share of decided debates that con wins."""
    con_gold: float | None
    last: float | None
    """The share that the last speaker wins."""
    last_gold: float | None
    longest: float | None
    """The share that whoever said most wins."""
    longest_gold: float | None
    swapped: int
    flipped: float | None
    """The share of debates whose winner is another when the sides are swapped."""
    stays_with_side: float | None
    """The share in which the same side wins after the swap, which others speak for then: the side
    won, not the speeches."""


class SameRow(Fact):
    """How often two runs name the same winner."""

    first: str
    second: str
    debates: int
    same: float
    kappa: float | None


class Published(Fact):
    """A figure that a paper reports, on its data and with its models: theirs, not ours."""

    system: str
    data: str
    dimension: str
    measure: str
    value: float
    paper: str


class ContestReport(Fact):
    """All figures of one scoring."""

    kind: Literal["contests"] = "contests"
    truth: str
    against: Against = "winner"
    """What errors are measured against: the debate's winner, or each vote on it."""
    debates: int
    samples: int
    seed: int
    rows: tuple[ContestRow, ...]
    biases: tuple[BiasRow, ...] = ()
    same: tuple[SameRow, ...] = ()
    published: tuple[Published, ...] = Field(default=())
    missing: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON."""
        return self.model_dump(mode="json")

    def lines(self) -> list[str]:
        """Lay the report out for a terminal."""
        from touche_rad.score.contest_table import lines

        return lines(self)


def published() -> tuple[Published, ...]:
    """Return what the papers report."""
    told = tomllib.loads(resources(__package__).joinpath("published.toml").read_text("utf-8"))
    return tuple(figure for table in told["table"] for figure in _figures(table))


def _figures(table: Mapping[str, Any]) -> Iterator[Published]:
    for system, *values in table["rows"]:
        for measure, value in zip(table["measures"], values, strict=True):
            if value != "":
                yield Published(
                    system=system, data=table["data"], measure=measure, value=value,
                    dimension=table.get("dimension", "general"), paper=table["paper"],
                )  # fmt: skip
