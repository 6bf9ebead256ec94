"""TIRA's evaluation.prototext: the twelve official measures, as the official scorer writes them."""

from __future__ import annotations

from pathlib import Path

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import UserError, nearest
from touche_rad.score.result import JudgementReport, JudgementRow, Report

NAME = "evaluation.prototext"


def prototext(report: Report, run: str | None = None) -> str:
    """The twelve measures of one run of a report; which one goes without saying if it is alone."""
    if not isinstance(report, JudgementReport):
        raise UserError(f"{NAME} is for judges' runs scored against labels, not for {report.kind}")
    if run is None and len(report.runs) != 1:
        raise UserError(f"{NAME} holds one run, and {len(report.runs)} were scored: name one")
    wanted = report.runs[0] if run is None else run
    rows = {row.maxim: row for row in report.rows if row.run == wanted}
    if not rows:
        raise UserError(f"no run {wanted!r} was scored{nearest(wanted, report.runs)}")
    return "".join(_measures(rows[maxim]) for maxim in Maxim)


def write_prototext(report: Report, path: Path, run: str | None = None) -> Path:
    """Write it to a file, or under its official name into a folder; return where it lies."""
    place = path / NAME if path.is_dir() else path
    content = prototext(report, run)
    with files.atomic_write(place) as file:
        file.write(content)
    return place


def _measures(row: JudgementRow) -> str:
    figures = (("precision", row.precision), ("recall", row.recall), ("f1", row.f1))
    return "".join(_measure(f"{row.maxim} {name}", value) for name, value in figures)


def _measure(key: str, value: float) -> str:
    shown = repr(value) if value else "0"  # the official scorer's zero has no point
    return f'measure {{\n key: "{key}"\n value: "{shown}"\n}}\n'
