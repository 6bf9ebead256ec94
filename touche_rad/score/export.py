"""Write scores for other programs: TIRA's file of the official scores, and files for `ir_measures`.

`evaluation.prototext` has precision, recall and F1 of "yes" for each maxim. ir-measures gives the
same values (SetP, SetR and SetF) for the qrels and runs, in which each maxim is a query and each
turn a document; a run contains the labelled turns with a yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import UserError
from touche_rad.score.matching import Labelled, Scored
from touche_rad.score.measures import says_yes
from touche_rad.score.reports import JudgementReport, Report

PROTOTEXT = "evaluation.prototext"
QRELS = "labels.qrels"


def export(report: Report, folder: Path) -> list[Path]:
    """Write a report for other programs, and return the written files.

    Writes `labels.qrels` and a `NAME.run` per run for `ir_measures`, and `evaluation.prototext` for
    TIRA. With several runs, each run's `evaluation.prototext` is in its own folder.
    """
    if not isinstance(report, JudgementReport):
        raise UserError(
            "-o is for evaluations: TREC runs and qrels are files for ir_measures already"
        )
    written = [_write(folder / QRELS, "".join(_qrels(report.labels)))]
    names_used: set[str] = set()
    for run in report.runs:
        name = re.sub(r"[^\w.#-]+", "_", run).strip("._") or "run"
        while name in names_used:
            name += "_"
        names_used.add(name)
        lines = _run_lines(report.labels, report.scores[run], "_".join(run.split()) or "run")
        written.append(_write(folder / f"{name}.run", "".join(lines)))
        beside = folder if len(report.runs) == 1 else folder / name
        written.append(_write(beside / PROTOTEXT, prototext(report, run)))
    return written


def prototext(report: JudgementReport, run: str) -> str:
    """Format the twelve official measures of a run."""
    rows = {row.maxim: row for row in report.rows if row.run == run}
    return "".join(
        measure(f"{maxim} {key}", getattr(rows[maxim], key))
        for maxim in Maxim
        for key in ("precision", "recall", "f1")
    )


def measure(key: str, value: float) -> str:
    """Format one measure of `evaluation.prototext`."""
    shown = repr(value) if value else "0"  # the official scorer's zero has no point
    return f'measure {{\n key: "{key}"\n value: "{shown}"\n}}\n'


def _write(path: Path, content: str) -> Path:
    with files.atomic_write(path) as file:
        file.write(content)
    return path


def _qrels(labels: Labelled) -> Iterator[str]:
    for maxim in Maxim:
        for debate, turns in enumerate(labels, 1):
            for turn, label in enumerate(turns, 1):
                if label.get(maxim) is not None:
                    yield f"{maxim} 0 {debate}.{turn} {label[maxim]}\n"


def _run_lines(labels: Labelled, scores: Scored, tag: str) -> Iterator[str]:
    """Yield the labelled turns with a yes, sorted by maxim and score."""
    for maxim in Maxim:
        hits = [
            (f"{debate}.{turn}", score)
            for debate, (turns, verdicts) in enumerate(zip(labels, scores, strict=True), 1)
            for turn, (label, verdict) in enumerate(zip(turns, verdicts, strict=True), 1)
            if label.get(maxim) is not None
            and (score := verdict.get(maxim)) is not None
            and says_yes(score)
        ]
        for rank, (turn, score) in enumerate(sorted(hits, key=lambda hit: -hit[1]), 1):
            yield f"{maxim} Q0 {turn} {rank} {score!r} {tag}\n"
