"""The official scores: precision, recall and F1 of "yes" for each maxim, and TIRA's file of them.

A score of at least 0.5 means yes. Turns without a label are left out, a missing verdict means no,
and a measure is 0 if there is no true positive. The arithmetic follows the official scorer step by
step, so that the last digit agrees. ir-measures gives the same values (SetP, SetR and SetF) for the
files that `export` writes; a test compares them. How a run is aligned with the labels is in
`alignment`; intervals and the additional measures are in `figures`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import UserError, nearest
from touche_rad.score.reports import JudgementReport, Report
from touche_rad.score.result import JudgementRow

YES = 0.5


def says_yes(score: float | None) -> bool:
    """Whether a score means yes; a missing score means no."""
    return score is not None and score >= YES


@dataclass(frozen=True)
class Counts:
    """True and false positives and negatives."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @property
    def labelled(self) -> int:
        """The number of labelled turns."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def precision(self) -> float:
        """Of the turns predicted yes, the share labelled yes."""
        return self.tp / (self.tp + self.fp) if self.tp else 0.0

    @property
    def recall(self) -> float:
        """Of the turns labelled yes, the share predicted yes."""
        return self.tp / (self.tp + self.fn) if self.tp else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        precision, recall = self.precision, self.recall
        return 2 * precision * recall / (precision + recall) if self.tp else 0.0

    @property
    def inverted(self) -> Counts:
        """The same table with "no" as the positive class."""
        return Counts(tp=self.tn, fp=self.fn, fn=self.fp, tn=self.tp)


def count(pairs: Iterable[tuple[int | None, float | None]]) -> Counts:
    """Count (label, score) pairs; those without a label are left out."""
    cells = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for label, score in pairs:
        if label is not None:
            cells[label == 1, says_yes(score)] += 1
    return Counts(
        tp=cells[True, True],
        fp=cells[False, True],
        fn=cells[True, False],
        tn=cells[False, False],
    )


NAME = "evaluation.prototext"


def prototext(report: Report, run: str | None = None) -> str:
    """Format the twelve measures of a run; name it if the report has several runs."""
    if not isinstance(report, JudgementReport):
        raise UserError(
            f"{NAME} is for evaluations that are scored against labels, not for {report.kind}"
        )
    if run is None and len(report.runs) != 1:
        raise UserError(f"{NAME} holds one run, and {len(report.runs)} were scored: name one")
    wanted = report.runs[0] if run is None else run
    rows = {row.maxim: row for row in report.rows if row.run == wanted}
    if not rows:
        raise UserError(f"no run {wanted!r} was scored{nearest(wanted, report.runs)}")
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
