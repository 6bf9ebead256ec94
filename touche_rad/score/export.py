"""Write `evaluation.prototext`, TIRA's file of the official scores."""

from __future__ import annotations

import re
from pathlib import Path

from touche_rad.errors import UserError
from touche_rad.files.records import path_beside, write_text
from touche_rad.score.reports import JudgementReport

PROTOTEXT = "evaluation.prototext"


def export(report: JudgementReport, folder: Path) -> list[Path]:
    """Write precision, recall and F1 of yes for each maxim; of several runs, each in a folder."""
    if not report.criteria.official:
        raise UserError(f"{PROTOTEXT} has the scores of the task, not of {report.criteria.name}")
    paths: list[Path] = []
    for run in report.runs:
        name = re.sub(r"[^\w.#-]+", "_", run).strip("._") or "run"
        path = folder / name / PROTOTEXT if len(report.runs) > 1 else folder / PROTOTEXT
        while path in paths:
            path = path_beside(path.parent, "_") / PROTOTEXT
        write_text(path, prototext(report, run))
        paths.append(path)
    return paths


def prototext(report: JudgementReport, run: str) -> str:
    """Format the official measures of a run: three for each criterion."""
    rows = {row.maxim: row for row in report.rows if row.run == run}
    return "".join(
        measure(f"{criterion.key} {name}", getattr(rows[criterion.key], name))
        for criterion in report.criteria
        for name in ("precision", "recall", "f1")
    )


def measure(key: str, value: float | str) -> str:
    """Format one measure of `evaluation.prototext`, or a text, as TIRA reads it."""
    # The official scorer's zero has no point, and TIRA's reader splits lines at quotes and colons.
    text = re.sub('[":]', "_", str(value or 0))
    return f'measure {{\n key: "{key}"\n value: "{text}"\n}}\n'
