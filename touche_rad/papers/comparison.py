"""Compares the values of a paper's table with those of the user's runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal

from touche_rad.papers.tables import PaperColumn, PaperPart, PaperRow, Reproduction
from touche_rad.score.tables import INTERVAL, NONE, FrozenRecord, Part, Printed, Table

Records = Sequence[Mapping[str, Any]]


class PaperCell(FrozenRecord):
    """A value of a paper beside ours."""

    row: str
    column: str
    paper: float | None
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    fallbacks: int = 0
    """Results of a fallback in the runs of the row."""

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.paper is None or self.ours is None else self.ours - self.paper


class PaperComparison(Printed):
    """A table of a paper beside ours."""

    kind: Literal["paper"] = "paper"
    table: str
    title: str
    paper: str
    note: str
    ours: str
    """The models and data of the user's runs."""
    cells: tuple[PaperCell, ...]

    def parts(self) -> Iterator[Part]:
        """Yield the lines of the terminal output."""
        yield (f"{self.paper}: {self.title}", *([self.note] if self.note else []))
        fallbacks = any(one.fallbacks for one in self.cells)
        longest = max(len(one.row) for one in self.cells)
        rows = [
            [
                one.row.ljust(longest),
                one.column,
                _text(one.paper),
                _text(one.ours),
                *([NONE if one.ours is None else str(one.fallbacks)] if fallbacks else []),
                NONE if one.low is None else f"{_text(one.low)} to {_text(one.high)}",
                _text(one.difference, "+"),
            ]
            for one in self.cells
        ]
        ours = ["ours", "fallbacks"] if fallbacks else ["ours"]
        yield Table(
            ["row".ljust(longest), "", "paper", *ours, INTERVAL, "difference"], rows, name=1
        )
        filled = {one.column for one in self.cells if one.ours is not None}
        lacking = dict.fromkeys(one.column for one in self.cells if one.column not in filled)
        yield (f"The paper's values are on its data with its models; ours: {self.ours}.",)
        if lacking and filled:
            yield (f"The runs or the labels have no values of {', '.join(lacking)}.",)


def _text(value: float | None, sign: str = "") -> str:
    """Return a number with three decimals up to 1, else with two where it has some."""
    if value is None:
        return NONE
    if abs(value) <= 1 and value % 1:
        return f"{value:{sign}.3f}"
    return f"{value:{sign}.2f}".removesuffix(".00")


def records_of(report: Printed) -> Records:
    """Return everything that a report has for each run."""
    lists = [value for value in report.to_json().values() if isinstance(value, list)]
    inner = [one for value in lists for one in value if isinstance(one, dict)]
    return [*report.records(), *inner]


def compare(name: str, work: Reproduction, scores: Sequence[Records]) -> PaperComparison:
    """Return the paper's table beside ours; `scores` has the records of each part."""
    paper = work.table
    places = [
        (part, records, column, where)
        for part, records in zip(paper.parts, scores, strict=True)
        for column, where in part.columns.items()
    ]
    cells = [
        _cell(work, row, value, *place)
        for row in paper.rows
        for value, place in zip(row.values, places, strict=True)
    ]
    return PaperComparison(
        table=name,
        title=paper.title,
        paper=paper.paper,
        note=paper.note,
        ours=work.about(),
        cells=tuple(cells),
    )


def _cell(
    work: Reproduction,
    row: PaperRow,
    value: float | str,
    part: PaperPart,
    records: Records,
    name: str,
    column: PaperColumn,
) -> PaperCell:
    cell = PaperCell(row=row.name, column=name, paper=None if isinstance(value, str) else value)
    if row not in work.rows:
        return cell
    cell = cell.model_copy(update={"fallbacks": work.fallbacks(row)})
    seeds = range(work.table.seeds)
    runs = [_value(work, row, seed, part, records, column) for seed in seeds]
    values = [one[0] for one in runs if one is not None]
    if not values or len(values) < len(runs):
        return cell
    low, high = runs[0][1:] if len(runs) == 1 and runs[0] else (None, None)
    update = {"ours": fmean(values), "low": low, "high": high}
    scaled = {key: None if one is None else one * column.times for key, one in update.items()}
    return cell.model_copy(update=scaled)


def _value(
    work: Reproduction,
    row: PaperRow,
    seed: int,
    part: PaperPart,
    records: Records,
    column: PaperColumn,
) -> tuple[float, float | None, float | None] | None:
    """Return the value of a row with its interval, or None if the runs do not have it."""
    wanted = {
        **work.row_of(part, row, seed),
        **{key: work.filled(text, row, seed) for key, text in column.where.items()},
    }
    measure = work.filled(column.measure, row, seed)
    for record in records:
        value = record.get(measure)
        if value is not None and all(
            str(record.get(key)) in text.split("|") for key, text in wanted.items()
        ):
            stem = measure.removesuffix("_f1")
            low, high = (record.get(f"{stem}_{end}", record.get(end)) for end in ("low", "high"))
            return float(value), low, high
    return None
