"""Compares the values of a paper's table with those of the user's runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from touche_rad.papers.tables import PaperColumn, PaperPart, PaperRow, Reproduction
from touche_rad.records import FrozenRecord
from touche_rad.score.result import MEAN
from touche_rad.score.tables import INTERVAL, NONE, Part, Printed, Table

Records = Sequence[Mapping[str, Any]]


class PaperCell(FrozenRecord):
    """A value of a paper beside ours."""

    row: str
    column: str
    paper: float | None
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    samples: Mapping[str, int] = {}
    """How many debates, sides, or labels of each class are scored."""
    reason: str = ""
    """Why there is no value of ours."""
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
    inputs: Mapping[str, str]
    """The digest of each input."""
    cells: Sequence[PaperCell]

    def parts(self) -> Iterator[Part]:
        """Yield the lines of the terminal output."""
        yield tuple(filter(None, (f"{self.paper}: {self.title}", self.note)))
        longest = max(len(cell.row) for cell in self.cells)
        rows = []
        for cell in self.cells:
            counts = [f"{count} {name}" for name, count in cell.samples.items()]
            rows.append(
                [
                    cell.row.ljust(longest),
                    cell.column,
                    _text(cell.paper),
                    _text(cell.ours),
                    ", ".join(counts) or NONE,
                    NONE if cell.ours is None else str(cell.fallbacks),
                    NONE if cell.low is None else f"{_text(cell.low)} to {_text(cell.high)}",
                    _text(cell.difference, "+"),
                ]
            )
        heads = [
            "row".ljust(longest),
            "",
            "paper",
            "ours",
            "n",
            "fallbacks",
            INTERVAL,
            "difference",
        ]
        yield Table(heads, rows, name=1)
        yield tuple(
            dict.fromkeys(f"{cell.column}: {cell.reason}" for cell in self.cells if cell.reason)
        )
        yield (f"The paper's values are on its data with its models; ours: {self.ours}.",)


def _text(value: float | None, sign: str = "") -> str:
    """Return a number with three decimals up to 1, else with two where it has some."""
    if value is None:
        return NONE
    if abs(value) <= 1 and value % 1:
        return f"{value:{sign}.3f}"
    return f"{value:{sign}.2f}".removesuffix(".00")


def records_of(report: Printed) -> Iterator[Mapping[str, Any]]:
    """Yield everything that a report has for each run."""
    yield from report.records()
    for value in report.to_json().values():
        if isinstance(value, list):
            yield from (record for record in value if isinstance(record, dict))


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
            cell = PaperCell(
                row=row.name,
                column=title,
                paper=None if isinstance(value, str) else value,
                reason=row.reasons.get(title, ""),
                fallbacks=fallbacks,
            )
            if is_run and title not in row.reasons:
                cell = cell.model_copy(update=_ours(work, row, part, records, column))
            cells.append(cell)
    for name in paper.baselines:
        row = PaperRow(name=name, values=())
        for part, records, title, column in places:
            figures = _ours(work, row, part, records, column)
            if figures:
                cells.append(PaperCell(row=name, column=title, paper=None, **figures))
    return PaperComparison(
        table=name,
        title=paper.title,
        paper=paper.paper,
        note=paper.note,
        ours=work.about(),
        inputs=work.digests(),
        cells=cells,
    )


def _ours(
    work: Reproduction, row: PaperRow, part: PaperPart, records: Records, column: PaperColumn
) -> dict[str, Any]:
    """Return our mean over the seeds; of one run with its interval; empty if a run lacks it."""
    if column.mean_of:
        parts = [_ours(work, row, part, records, part.columns[name]) for name in column.mean_of]
        if any("ours" not in figures for figures in parts):
            return {}
        return {"ours": fmean(figures["ours"] for figures in parts)}
    classes: Counter[str] = Counter()
    for record in records:
        if "yes" in record and column.measure.startswith((MEAN, record["maxim"])):
            if not record["yes"] * record["no"]:
                return {"reason": "the labels have one class only"}
            classes.update(yes=record["yes"], no=record["no"])

    runs = []
    for seed in range(work.table.seeds):
        run = _record(work, row, seed, part, records, column)
        if run is None:
            return {}
        runs.append(run)
    measure = work.filled(column.measure, row)
    figures = {"ours": fmean(record[measure] for record in runs)}
    if len(runs) == 1:
        # The interval of a measure in F1 is beside it without this ending, or as `low` and `high`.
        stem = measure.removesuffix("_f1")
        for bound in ("low", "high"):
            figures[bound] = runs[0].get(f"{stem}_{bound}", runs[0].get(bound))
    scaled = {key: figure and figure * column.times for key, figure in figures.items()}
    samples = {key: runs[0][key] for key in ("debates", "sides") if key in runs[0]}
    if measure == "rmse":  # a debate without a verdict has no error
        samples["debates"] = min(round(run["debates"] * run["completed"]) for run in runs)
    return {**scaled, "samples": classes or samples}


def _record(
    work: Reproduction,
    row: PaperRow,
    seed: int,
    part: PaperPart,
    records: Records,
    column: PaperColumn,
) -> Mapping[str, Any] | None:
    """Return the record with the value of a row, or None if the runs do not have it."""
    wanted = {key: work.filled(text, row, seed) for key, text in column.where.items()}
    if row.name in work.table.baselines:
        wanted["run"] = row.name
        if "basis" in wanted:
            wanted["basis"] = "constant"
    elif "{row}" in part.runs:  # else one run has all rows, and the conditions name this one
        wanted.setdefault("run", Path(work.filled(part.runs, row, seed)).stem)
    measure = work.filled(column.measure, row, seed)
    for record in records:
        if record.get(measure) is not None and all(
            str(record.get(key)) in text.split("|") for key, text in wanted.items()
        ):
            return record
    return None
