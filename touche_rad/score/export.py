"""Write the official scores of each run."""

from __future__ import annotations

import re
from pathlib import Path

from touche_rad.score.official import NAME, write_prototext
from touche_rad.score.reports import Report


def export(report: Report, folder: Path) -> list[Path]:
    """Write `evaluation.prototext` for TIRA; of several runs, each into a folder of its name."""
    if len(report.runs) == 1:
        return [write_prototext(report, folder / NAME)]
    written: list[Path] = []
    for run in report.runs:
        place = folder / (re.sub(r"[^\w.#-]+", "_", run).strip("._") or "run")
        while place / NAME in written:
            place = place.with_name(f"{place.name}_")
        written.append(write_prototext(report, place / NAME, run))
    return written
