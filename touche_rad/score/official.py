"""TIRA's file of the official scores: precision, recall and F1 of "yes" for each maxim.

ir-measures gives the same values (SetP, SetR and SetF) for the files that `export` writes; a test
compares them.
"""

from __future__ import annotations

from pathlib import Path

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import UserError, nearest
from touche_rad.score.reports import JudgementReport, Report
from touche_rad.score.result import JudgementRow

NAME = "evaluation.prototext"


def prototext(report: Report, run: str | None = None) -> str:
    """Format the twelve measures of a run; name it if the report has several runs."""
    if not isinstance(report, JudgementReport):
        raise UserError(
            f"{NAME} is for evaluations that are scored against labels, not for {report.kind}"
        )
    if run is None and len(report.runs) != 1:
        raise UserError(f"{NAME} holds one run, and {len(report.runs)} were scored: name one")
    name = report.runs[0] if run is None else run
    rows = {row.maxim: row for row in report.rows if row.run == name}
    if not rows:
        raise UserError(f"no run {name!r} was scored{nearest(name, report.runs)}")
    return "".join(_measures(rows[maxim]) for maxim in Maxim)


def write_prototext(report: Report, path: Path, run: str | None = None) -> Path:
    """Write the measures to a file, or to `evaluation.prototext` in a folder; return its path."""
    place = path / NAME if path.is_dir() else path
    content = prototext(report, run)
    with files.atomic_write(place) as file:
        file.write(content)
    return place


def _measures(row: JudgementRow) -> str:
    figures = (("precision", row.precision), ("recall", row.recall), ("f1", row.f1))
    return "".join(measure(f"{row.maxim} {name}", value) for name, value in figures)


def measure(key: str, value: float) -> str:
    """Format one measure of `evaluation.prototext`."""
    shown = repr(value) if value else "0"  # the official scorer's zero has no point
    return f'measure {{\n key: "{key}"\n value: "{shown}"\n}}\n'
