"""Write labels and judges' runs as qrels and run files for the `ir_measures` command.

Each maxim is a query and each turn a document. A run contains the labelled turns with a yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ir_measures import Qrel, ScoredDoc

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import UserError
from touche_rad.score.matching import Labelled, Scored
from touche_rad.score.measures import says_yes
from touche_rad.score.official import NAME, write_prototext
from touche_rad.score.reports import JudgementReport, Report

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
    written = [write_qrels(report.labels, folder / QRELS)]
    names_used: set[str] = set()
    for run in report.runs:
        name = _file_name(run)
        while name in names_used:
            name += "_"
        names_used.add(name)
        place = folder / f"{name}.run"
        written.append(write_run(report.labels, report.scores[run], run, place))
        beside = folder if len(report.runs) == 1 else folder / name
        written.append(write_prototext(report, beside / NAME, run))
    return written


def qrels(labels: Labelled) -> Iterator[Qrel]:
    """Yield the labels as qrels."""
    for maxim in Maxim:
        for debate, turns in enumerate(labels, 1):
            for turn, label in enumerate(turns, 1):
                value = label.get(maxim)
                if value is not None:
                    yield Qrel(maxim.value, f"{debate}.{turn}", value)


def run(labels: Labelled, scores: Scored) -> Iterator[ScoredDoc]:
    """Yield the labelled turns with a yes, sorted by maxim and score."""
    for maxim in Maxim:
        hits = [
            ScoredDoc(maxim.value, f"{debate}.{turn}", score)
            for debate, (turns, verdicts) in enumerate(zip(labels, scores, strict=True), 1)
            for turn, (label, verdict) in enumerate(zip(turns, verdicts, strict=True), 1)
            if label.get(maxim) is not None
            and (score := verdict.get(maxim)) is not None
            and says_yes(score)
        ]
        yield from sorted(hits, key=lambda hit: -hit.score)


def write_qrels(labels: Labelled, path: Path) -> Path:
    """Write the labels as a qrels file."""
    with files.atomic_write(path) as file:
        for query, document, relevance, _ in qrels(labels):
            file.write(f"{query} 0 {document} {relevance}\n")
    return path


def write_run(labels: Labelled, scores: Scored, tag: str, path: Path) -> Path:
    """Write a judge's yes-verdicts as a run file."""
    ranks: dict[str, int] = {}
    with files.atomic_write(path) as file:
        for query, document, score in run(labels, scores):
            ranks[query] = ranks.get(query, 0) + 1
            file.write(f"{query} Q0 {document} {ranks[query]} {score!r} {_one_word(tag)}\n")
    return path


def _one_word(tag: str) -> str:
    return "_".join(tag.split()) or "run"


def _file_name(run: str) -> str:
    """Return a run's name without characters that file names should not have."""
    return re.sub(r"[^\w.#-]+", "_", run).strip("._") or "run"
