"""What a scored run leaves behind: TIRA's prototext, and qrels and runs for `ir_measures`."""

from __future__ import annotations

import re
from pathlib import Path

from touche_rad import files
from touche_rad.errors import UserError
from touche_rad.score import measures, prototext
from touche_rad.score.judgements import align_all, read_labels
from touche_rad.score.naming import names
from touche_rad.score.result import JudgementReport, Report

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
        written.append(prototext.write_prototext(report, beside / prototext.NAME, run))
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
