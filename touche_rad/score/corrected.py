"""Correct a judge's verdicts by labels that only their places match with its debates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from touche_rad.debate import Debate, Response, Turn
from touche_rad.score._correction import TurnAnswers
from touche_rad.score.people import labelled_criteria, people_report
from touche_rad.score.reports import JudgementReport
from touche_rad.score.shares import ShareReport


def correct(report: JudgementReport, **how: Any) -> ShareReport:
    """Return people's answers to all turns, estimated from the verdicts and the labels there are.

    The debates of a run are known by their lines, and lost ones by their missing verdicts.
    """
    truth = Path(report.truth)
    debates_of = {}
    for run in report.runs:
        debates = []
        pairs = zip(report.scores[run], report.labels, strict=True)
        for line, (scores, labels) in zip(report.label_lines, pairs, strict=True):
            turns = []
            for scores_of_turn, labels_of_turn in zip(scores, labels, strict=True):
                turns.append(TurnAnswers(0, scores_of_turn, [labels_of_turn]))
            # The content decides the order of the samples: that of the files must not.
            turn = Turn(utterance=str(turns), response=Response(content=""))
            answered = [turn] * len(turns) if any(scores) else []
            debates.append((Debate(claim=str(line), turns=tuple(answered)), turns))
        debates_of[run] = debates
    reason = "each judge's verdicts, with the labels, give an estimate of the same share"
    return people_report(
        debates_of,
        truth,
        report.criteria,
        labelled_criteria(report.criteria, report.labels, truth),
        correct=True,
        refused=dict(report.refused),
        # Not the problems of the labels.
        notes=[
            f"{fault.run}: {fault.text}" for fault in report.faults() if fault.run in debates_of
        ],
        baselines=[run for run in report.baselines if run in debates_of],
        verdicts=lambda: report.unit_rows("turn"),
        not_ranked=reason if len(debates_of) > 1 else "",
        **how,
    )
