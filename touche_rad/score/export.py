"""Write `evaluation.prototext`, TIRA's file of the official scores."""

from __future__ import annotations

import re
from pathlib import Path

from touche_rad.errors import UserError
from touche_rad.files.records import write_text
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
            path = path.parent.with_name(f"{path.parent.name}_") / PROTOTEXT
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


def measure(key: str, value: float) -> str:
    """Format one measure of `evaluation.prototext`."""
    text = repr(value) if value else "0"  # the official scorer's zero has no point
    return f'measure {{\n key: "{key}"\n value: "{text}"\n}}\n'
