"""The report of `touche-rad score --correct`: what people would say about all turns of a run."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from touche_rad.criteria import Criteria
from touche_rad.errors import UserError
from touche_rad.files.labels import say_unsettled
from touche_rad.records import FrozenRecord
from touche_rad.score import _correction as correction
from touche_rad.score._correction import TurnAnswers
from touche_rad.score.judgements import FEW_DEBATES
from touche_rad.score.rates import answer_shares, describe_scales
from touche_rad.score.reports import JudgementReport
from touche_rad.score.significance import FEWEST_FOR_INTERVAL
from touche_rad.score.tables import Columns, Part, Printed, table


class CorrectedRow(FrozenRecord):
    """One run on one criterion."""

    run: str
    maxim: str
    turns: int
    labelled: int
    debates: int
    """Debates with a labelled turn."""
    unsettled: int
    """Turns on which people disagree and that have no label; they are left out."""
    judge_yes: float
    """The judge's share of yes, or mean answer from 0 to 1 on a scale, on all turns."""
    yes: float | None = None
    """What people would give to all turns, prediction-powered."""
    yes_low: float | None = None
    yes_high: float | None = None
    f1: float | None = None
    """The F1 that the judge would have if all turns were labelled; None of scales, categories."""
    f1_low: float | None = None
    f1_high: float | None = None


class CorrectionReport(Printed):
    """All runs, by run and criterion."""

    truth: str
    criteria: Criteria = Field(exclude=True, repr=False)
    rows: tuple[CorrectedRow, ...]
    warnings: tuple[str, ...] = ()

    def parts(self) -> Iterator[Part]:
        """Yield a table per run, and what one must know to read it."""
        for run in dict.fromkeys(row.run for row in self.rows):
            rows = [row for row in self.rows if row.run == run]
            head = f"{run}: {rows[0].turns} turns; the labelled ones are taken as random"
            # Of a question with categories once.
            unsettled = {row.maxim.partition(":")[0]: row.unsettled for row in rows}
            yield [head, *say_unsettled(unsettled)]
            yield table(_COLUMNS, rows)
        yield [
            "judge: its share of yes or of a category, or its mean answer, on all turns"
            f"{describe_scales(self.criteria)}.",
            "people: what people would give to all turns, estimated from the judge and the "
            "labels; right only if the labelled turns are a random sample. Each category is "
            "estimated alone, so the shares need not add up to 1.",
            "F1: estimated for the judge on all turns.",
            f"95 %: by debate, from {FEWEST_FOR_INTERVAL} debates with random labels: label turns "
            f"of {FEW_DEBATES} debates.",
        ]
        yield self.warnings


def correct(report: JudgementReport) -> CorrectionReport:
    """Estimate the labels of all turns from the judge's verdicts and the labels there are."""
    rows: list[CorrectedRow] = []
    warnings: list[str] = []
    for run in report.runs:
        turns = []
        # Sums of fractions depend on their order: the order of the files must not decide them.
        pairs = sorted(zip(report.scores[run], report.labels, strict=True), key=str)
        for debate, (scores, labels) in enumerate(pairs):
            for scores_of_turn, labels_of_turn in zip(scores, labels, strict=True):
                turns.append(TurnAnswers(debate, scores_of_turn, [labels_of_turn]))
        unsettled = correction.count_unsettled(turns, report.criteria)
        for share in answer_shares(report.criteria):
            sample = correction.judged_turns(share, turns)
            if not sample.labelled.any():
                continue
            warnings += sample.contradictions(f"{run}: {share.key}")
            f1 = correction.f1(sample) if share.criterion.answers.kind == "yes-no" else None
            estimates: dict[str, float | None] = {}
            for name, mean in (("yes", correction.yes_rate(sample)), ("f1", f1)):
                if mean is not None:
                    measured = correction.interval(mean, sample)
                    estimates[name] = measured.value
                    estimates[f"{name}_low"], estimates[f"{name}_high"] = measured.interval
            rows.append(
                CorrectedRow(
                    run=run,
                    maxim=share.key,
                    turns=len(turns),
                    labelled=int(sample.labelled.sum()),
                    debates=sample.labelled_debates,
                    unsettled=unsettled[share.criterion.key],
                    judge_yes=float(sample.verdicts.mean()),
                    **estimates,
                )
            )
    if not rows:
        raise UserError(f"{report.truth} has no label on a random turn: label some turns first")
    # Not the problems of the labels.
    warnings += [
        f"{fault.run}: {fault.text}" for fault in report.faults() if fault.run in report.runs
    ]
    return CorrectionReport(
        truth=report.truth, criteria=report.criteria, rows=tuple(rows), warnings=tuple(warnings)
    )


_COLUMNS: Columns = {
    "{maxim}": "criterion",
    "{labelled}": "labelled",
    "{debates}": "debates",
    "{judge_yes:.3f}": "judge",
    "{yes:.3f}": "people",
    "[{yes_low:.2f}, {yes_high:.2f}]": "95 %",
    "{f1:.3f}": "F1",
    "[{f1_low:.2f}, {f1_high:.2f}]": "95 %",
}
