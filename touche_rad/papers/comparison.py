"""Compares the values of a paper's table with those of the user's runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
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
        yield tuple(filter(None, (f"{self.paper}: {self.title}", self.note)))
        with_fallbacks = any(cell.fallbacks for cell in self.cells)
        longest = max(len(cell.row) for cell in self.cells)
        rows = []
        for cell in self.cells:
            row = [cell.row.ljust(longest), cell.column, _text(cell.paper), _text(cell.ours)]
            if with_fallbacks:
                row.append(NONE if cell.ours is None else str(cell.fallbacks))
            row.append(NONE if cell.low is None else f"{_text(cell.low)} to {_text(cell.high)}")
            rows.append([*row, _text(cell.difference, "+")])
        ours = ["ours", "fallbacks"] if with_fallbacks else ["ours"]
        yield Table(
            ["row".ljust(longest), "", "paper", *ours, INTERVAL, "difference"], rows, name=1
        )
        filled = {cell.column for cell in self.cells if cell.ours is not None}
        lacking = dict.fromkeys(cell.column for cell in self.cells if cell.column not in filled)
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
    records = [*report.records()]
    for value in report.to_json().values():
        if isinstance(value, list):
            records += [record for record in value if isinstance(record, dict)]
    return records


def compare(name: str, work: Reproduction, scores: Sequence[Records]) -> PaperComparison:
    """Return the paper's table beside ours; `scores` has the records of each part."""
    paper = work.table
    places: list[tuple[PaperPart, Records, str, PaperColumn]] = []
    for part, records in zip(paper.parts, scores, strict=True):
        places += [(part, records, title, column) for title, column in part.columns.items()]
    cells = []
    for row in paper.rows:
        is_run = row in work.rows
        fallbacks = work.fallbacks(row) if is_run else 0
        for value, (part, records, title, column) in zip(row.values, places, strict=True):
            printed = None if isinstance(value, str) else value
            cell = PaperCell(row=row.name, column=title, paper=printed, fallbacks=fallbacks)
            if is_run:
                cell = cell.model_copy(update=_ours(work, row, part, records, column))
            cells.append(cell)
    return PaperComparison(
        table=name,
        title=paper.title,
        paper=paper.paper,
        note=paper.note,
        ours=work.about(),
        cells=tuple(cells),
    )


def _ours(
    work: Reproduction, row: PaperRow, part: PaperPart, records: Records, column: PaperColumn
) -> dict[str, float | None]:
    """Return our mean over the seeds; of one run with its interval; empty if a run lacks it."""
    runs = []
    for seed in range(work.table.seeds):
        run = _value(work, row, seed, part, records, column)
        if run is None:
            return {}
        runs.append(run)
    if len(runs) == 1:
        figures = dict(zip(("ours", "low", "high"), runs[0], strict=True))
    else:
        figures = {"ours": fmean(run[0] for run in runs)}
    return {
        key: None if figure is None else figure * column.times for key, figure in figures.items()
    }


def _value(
    work: Reproduction,
    row: PaperRow,
    seed: int,
    part: PaperPart,
    records: Records,
    column: PaperColumn,
) -> tuple[float, float | None, float | None] | None:
    """Return the value of a row with its interval, or None if the runs do not have it."""
    wanted = {key: work.filled(text, row, seed) for key, text in column.where.items()}
    if "{row}" in part.runs:  # else one run has all rows, and the conditions name this one
        wanted.setdefault("run", Path(work.filled(part.runs, row, seed)).stem)
    measure = work.filled(column.measure, row, seed)
    # The interval of a measure in F1 stands beside it without this ending, or as `low` and `high`.
    stem = measure.removesuffix("_f1")
    for record in records:
        value = record.get(measure)
        if value is not None and all(
            str(record.get(key)) in text.split("|") for key, text in wanted.items()
        ):
            low = record.get(f"{stem}_low", record.get("low"))
            high = record.get(f"{stem}_high", record.get("high"))
            return float(value), low, high
    return None
