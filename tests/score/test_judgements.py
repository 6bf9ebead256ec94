"""Scoring judges' runs as a whole: rows, means, intervals, comparisons."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cases import with_cases
from tests.records import read_table
from tests.refusals import expect_error
from tests.score.makers import Four, evaluation, labels_file, run_file
from touche_rad.debate import Maxim
from touche_rad.score import JudgementReport, ProblemKind, score, score_judgements
from touche_rad.score.result import JudgementRow, RunComparison


def row(report: JudgementReport, run: str, maxim: str) -> JudgementRow:
    (result,) = [row for row in report.rows if (row.run, row.maxim) == (run, maxim)]
    return result


def comparison(report: JudgementReport, run: str, against: str, measure: str) -> RunComparison:
    key = (run, against, measure)
    (result,) = [row for row in report.comparisons if (row.run, row.against, row.measure) == key]
    return result


def in_fives(turns: Sequence[Four]) -> list[Sequence[Four]]:
    return [turns[start : start + 5] for start in range(0, len(turns), 5)]


def by_maxim(columns: dict[Maxim, list[int]]) -> list[Four]:
    return list(zip(*(columns[maxim] for maxim in Maxim), strict=True))


YES_SHARES = {Maxim.RELATION: 57, Maxim.QUALITY: 24, Maxim.MANNER: 78, Maxim.QUANTITY: 52}
"""Of 100 turns of the official test, how many people gave a yes (as printed, rounded)."""

OFFICIAL = read_table("score/official_table.tsv")
"""A system, its precision and recall as printed in hundredths in the order of YES_SHARES, and its score."""


@pytest.mark.parametrize("printed", OFFICIAL)
def test_the_mean_row_is_the_score_of_the_official_table(printed: list[str]) -> None:
    """A run with the printed precision and recall has the printed mean of the four F1."""
    _, *figures, wanted = printed
    labels, scores = {}, {}
    for (maxim, yes), figure in zip(YES_SHARES.items(), figures, strict=True):
        precision, recall = map(int, figure.split())
        tp = round(yes * recall / 100)
        fp = min(100 - yes, round(tp * 100 / precision) - tp)
        labels[maxim] = [1] * yes + [0] * (100 - yes)
        scores[maxim] = [1] * tp + [0] * (yes - tp) + [1] * fp + [0] * (100 - yes - fp)
    truth = labels_file("labels.jsonl", in_fives(by_maxim(labels)))
    lines = [evaluation(turns) for turns in in_fives(by_maxim(scores))]
    run = run_file("judge.jsonl", lines)
    report = score_judgements([run], truth, samples=100)
    assert row(report, "judge", "mean").f1 == pytest.approx(int(wanted) / 100, abs=0.012)
    for maxim, yes in YES_SHARES.items():
        always = row(report, "always-yes", maxim)
        assert always.precision == yes / 100
        assert always.recall == 1.0
    assert row(report, "always-yes", "mean").f1 == pytest.approx(0.67, abs=0.005)


LABELS = [[(1, 0, 1, 1), (0, 1, None, None)], [(1, 1, 0, None), (1, None, 1, None)]]
SCORES = [[(0.9, 0.2, 0.5, 0.1), (0.6, 0.8, 1, 1)], [(0.4, 0.7, 0.9, 1), (1, 1, 0.3, 0)]]


@with_cases(("maxim", "cells", "figures"), "score/rows_counted_by_hand.json")
def test_rows_counted_by_hand(maxim: str, cells: list[int], figures: list[float]) -> None:
    """A file of labels is known by its content."""
    truth = labels_file("no-such-ending", LABELS)
    run = run_file("judge.jsonl", [evaluation(turns) for turns in SCORES])
    with expect_error(r"judge\.jsonl "):
        score([run], run)
    report = score([run], truth, samples=200)
    assert isinstance(report, JudgementReport)
    counted = row(report, "judge", maxim)
    assert [counted.tp, counted.fp, counted.fn, counted.tn] == cells
    assert [counted.precision, counted.recall, counted.f1] == pytest.approx(figures)
    assert counted.labelled == sum(cells)


def test_a_maxim_without_labels_is_reported_and_left_out_of_the_mean() -> None:
    truth = labels_file("labels.jsonl", [[(1, 1, None, 0)], [(1, 0, None, 1)]])
    lines = [evaluation([(1, 1, 1, 1)]), evaluation([(1, 1, 1, 1)])]
    report = score_judgements([run_file("judge.jsonl", lines)], truth, samples=100)
    assert row(report, "judge", "relation").f1 == 0.0
    assert row(report, "judge", "relation").accuracy is None
    assert row(report, "judge", "mean").f1 == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    problems = [problem for problem in report.problems if problem.kind is ProblemKind.NO_LABELS]
    assert [problem.maxim for problem in problems] == [Maxim.RELATION]
    assert "relation" not in {comparison.measure for comparison in report.comparisons}


class Planted:
    """Twenty debates of five turns, and judges that are right with a given chance."""

    def __init__(self) -> None:
        self.generator = random.Random(4)
        self.labels = []
        for _ in range(20):
            self.labels.append([tuple(self.generator.choices((0, 1), k=4)) for _ in range(5)])
        self.truth = labels_file("labels.jsonl", self.labels)

    def judge(self, name: str, right: float) -> Path:
        def score(label: int) -> int:
            return label if self.generator.random() < right else 1 - label

        lines = []
        for turns in self.labels:
            lines.append(evaluation([[*map(score, turn)] for turn in turns]))
        return run_file(f"{name}.jsonl", lines)


@pytest.fixture
def planted() -> Planted:
    return Planted()


def test_a_clearly_better_run_is_significant(planted: Planted) -> None:
    runs = [planted.judge("worse", 0.55), planted.judge("better", 0.95)]
    report = score_judgements(runs, planted.truth, samples=2000)
    loss = comparison(report, "worse", "better", "mean").model_dump()
    assert loss["difference"] < -0.2
    assert loss["high"] < 0
    assert loss["p_holm"] < 0.05
    mean = row(report, "better", "mean").model_dump()
    assert mean["low"] < mean["f1"] < mean["high"]


def test_the_seed_decides_intervals_and_nothing_else(planted: Planted) -> None:
    runs = [planted.judge("one", 0.6), planted.judge("two", 0.7)]
    first = score_judgements(runs, planted.truth, samples=300, seed=1)
    same_seed = score_judgements(runs, planted.truth, samples=300, seed=1)
    new_seed = score_judgements(runs, planted.truth, samples=300, seed=2)
    assert first == same_seed
    assert [row.low for row in first.rows] != [row.low for row in new_seed.rows]
    assert [row.f1 for row in first.rows] == [row.f1 for row in new_seed.rows]


@pytest.mark.parametrize(("debates", "warnings"), [(1, 0), (9, 0), (10, 1), (19, 1), (20, 0)])
def test_fewer_than_twenty_debates_are_few_and_one_has_no_interval_and_no_p(
    debates: int, warnings: int
) -> None:
    truth = labels_file("labels.jsonl", LABELS[:1] * debates)
    run = run_file("judge.jsonl", [evaluation(SCORES[0])] * debates)
    report = score_judgements([run], truth, samples=10)
    few = [problem.message for problem in report.problems if problem.kind is ProblemKind.FEW]
    assert [text.partition(":")[0] for text in few] == [f"{debates} debates"] * warnings
    assert ("Too few debates" in str(report.sentences())) == (debates < 10)
    if debates == 1:
        unknown = {(None, None)}
        assert {(row.low, row.high) for row in report.rows} == unknown
        assert {(row.p, row.p_holm) for row in report.comparisons} == unknown
