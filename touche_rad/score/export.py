"""Write TIRA's evaluation.prototext, and qrels and runs for the ir_measures command."""

from __future__ import annotations

import re
from pathlib import Path

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import UserError, nearest
from touche_rad.score import figures as measures
from touche_rad.score.judgements import align_all, read_labels
from touche_rad.score.naming import names
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


QRELS = "labels.qrels"


def export(report: Report, folder: Path) -> list[Path]:
    """Write a judgements' report for other programs, and return what was written.

    `labels.qrels` and one `NAME.run` a run are for `ir_measures`; `evaluation.prototext` is TIRA's,
    in a folder of its own a run where there are several.
    """
    if not isinstance(report, JudgementReport):
        raise UserError("runs scored against qrels are files for ir_measures already: leave out -o")
    written = [measures.write_qrels(report.labels, folder / QRELS)]
    names_used: set[str] = set()
    for run in report.runs:
        name = _file_name(run)
        while name in names_used:
            name += "_"
        names_used.add(name)
        place = folder / f"{name}.run"
        written.append(measures.write_run(report.labels, report.scores[run], run, place))
        beside = folder if len(report.runs) == 1 else folder / name
        written.append(write_prototext(report, beside / NAME, run))
    return written


def export_trec(
    run: Path,
    truth: Path,
    folder: Path,
    *,
    strict: bool = False,
    debates: Path | None = None,
    bad: files.BadLines | None = None,
) -> tuple[Path, Path]:
    """Write the qrels and the run of one evaluations file, for `ir_measures QRELS RUN`."""
    labels = read_labels(truth)
    (tag,) = names([run])
    (alignment,), _ = align_all(
        [tag], [run], truth, labels, strict=strict, debates=debates, bad=bad
    )
    place = folder / f"{_file_name(tag)}.run"
    return (
        measures.write_qrels(labels, folder / QRELS),
        measures.write_run(labels, alignment.scores, tag, place),
    )


def _file_name(run: str) -> str:
    """Make a run's name a plain file name: it stems from a path."""
    return re.sub(r"[^\w.#-]+", "_", run).strip("._") or "run"
