"""The report of `touche-rad score --correct`: what people would say about all turns of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from touche_rad.errors import UserError
from touche_rad.score import _correction as correction
from touche_rad.score._correction import JudgedTurns
from touche_rad.score.reports import JudgementReport
from touche_rad.score.tables import Columns, FrozenRecord, Part, Printed, table


class Corrected(FrozenRecord):
    """One run on one criterion."""

    run: str
    maxim: str
    turns: int
    labelled: int
    chosen: int
    """Labelled turns that were chosen, not drawn at random; they stand only for themselves."""
    debates: int
    """Debates with a labelled turn that is random."""
    judge_yes: float
    """The judge's share of yes on all turns."""
    yes: float
    """The share of yes that people would give to all turns, prediction-powered."""
    yes_low: float | None
    yes_high: float | None
    f1: float
    """The F1 that the judge would have if all turns were labelled."""
    f1_low: float | None
    f1_high: float | None


class CorrectionReport(Printed):
    """All runs, by run and criterion."""

    truth: str
    rows: tuple[Corrected, ...]
    warnings: tuple[str, ...] = ()

    def parts(self) -> Iterator[Part]:
        """Yield a table per run, and what one must know to read it."""
        for run in dict.fromkeys(row.run for row in self.rows):
            rows = [row for row in self.rows if row.run == run]
            first = rows[0]
            chosen = f", and {first.chosen} chosen ones" if first.chosen else ""
            random = f"{first.labelled - first.chosen} random turns of {first.debates} debates"
            yield [f"{run}: {first.turns} turns; labelled: {random}{chosen}"]
            yield table(_COLUMNS, rows)
            yield [
                f"{row.maxim}: no intervals, because only {row.debates} debates have random "
                f"labels: label turns of at least {correction.FEWEST_DEBATES} debates"
                for row in rows
                if row.debates < correction.FEWEST_DEBATES
            ]
        yield [
            "judge: its share of yes on all turns.",
            "people: the share of yes that people would give to all turns, estimated from the "
            "judge and the labels of random turns.",
            "F1: estimated for the judge on all turns. The intervals are by debate.",
        ]
        yield self.warnings


def correct(report: JudgementReport) -> CorrectionReport:
    """Estimate the labels of all turns from the judge's verdicts and the labels there are."""
    rows = [
        _row(run, key, sample)
        for run in report.runs
        for key in report.criteria.keys
        if (sample := _sample(report, run, key)) is not None
    ]
    if not rows and any(turn.get("sample") for turns in report.labels for turn in turns):
        raise UserError(
            f"{report.truth} has no label on a random turn, and the chosen ones differ from the "
            "others: label more with touche-rad label, and with a --random-share above 0"
        )
    if not rows:
        raise UserError(f"{report.truth} has no label: label some turns first")
    own = [one for one in report.problems if one.run in report.runs]
    warnings = tuple(report.model_copy(update={"problems": own}).warnings())
    return CorrectionReport(truth=report.truth, rows=tuple(rows), warnings=warnings)


def _sample(report: JudgementReport, run: str, key: str) -> JudgedTurns | None:
    """Return all turns, where a missing verdict is a no; None if no random one has a label.

    A file of `touche-rad label` says of each turn whether it is random.
    """
    debates, scores, labels, selected = [], [], [], []
    marked = any(turn.get("sample") for turns in report.labels for turn in turns)
    pairs = zip(report.scores[run], report.labels, strict=True)
    for number, (scored, labelled) in enumerate(pairs):
        for verdicts, turn in zip(scored, labelled, strict=True):
            label = turn.get(key)
            debates.append(number)
            scores.append(float(verdicts.get(key) or 0))
            labels.append(math.nan if label is None else float(label))
            sample = turn.get("sample", "" if label is None else "unknown")
            selected.append(sample not in ("", "random"))
    turns = JudgedTurns(
        np.array(debates, dtype=np.int64),
        np.array(scores),
        np.array(labels),
        np.array(selected, dtype=np.bool_) if marked else None,
    )
    return turns if turns.random.any() else None


def _row(run: str, key: str, sample: JudgedTurns) -> Corrected:
    yes, f1 = correction.yes_rate(sample), correction.f1(sample)
    return Corrected(
        run=run,
        maxim=key,
        turns=len(sample.labels),
        labelled=int(sample.labelled.sum()),
        chosen=0 if sample.selected is None else int((sample.labelled & sample.selected).sum()),
        debates=sample.labelled_debates,
        judge_yes=float(sample.verdicts.mean()),
        yes=yes.value,
        yes_low=yes.low,
        yes_high=yes.high,
        f1=f1.value,
        f1_low=f1.low,
        f1_high=f1.high,
    )


_COLUMNS: Columns = {
    "{maxim}": "maxim",
    "{judge_yes:.3f}": "judge",
    "{yes:.3f}": "people",
    "{yes_low:.2f} to {yes_high:.2f}": "95 %",
    "{f1:.3f}": "F1",
    "{f1_low:.2f} to {f1_high:.2f}": "95 %",
}
