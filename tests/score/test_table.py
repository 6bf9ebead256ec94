"""The report as a person reads it in a terminal."""

from __future__ import annotations

import re

from tests.score.makers import NO, YES, evaluation, labels_file, run_file
from touche_rad.papers.comparison import PaperCell, PaperComparison
from touche_rad.score import score_judgements
from touche_rad.score.result import OfficialResult
from touche_rad.score.tables import Table


def test_columns_are_aligned_first_left_then_right() -> None:
    assert Table(("", "a", "long"), [("name", "10", "2")]).lines() == [
        "       a  long",
        "name  10     2",
    ]


def test_a_wide_table_is_split_with_whole_names_and_each_interval_beside_its_value() -> None:
    cells = ["team-submission-one", "0.5000", "0.4 to 0.6", "0.1000"]
    wide = Table(["", "F1", "95 %", "kappa"], [cells])
    assert wide.lines(40) == [
        "                         F1        95 %",
        "team-submission-one  0.5000  0.4 to 0.6",
        "",
        "                      kappa",
        "team-submission-one  0.1000",
    ]
    pair = "seed-0/rules/grounded.length – seed-1/rules/grounded.length"
    long = Table(["", "F1", "95 %", "kappa"], [[pair, *cells[1:]]])
    assert [line.partition("  ")[0] for line in long.lines(60)[1:3]] == [
        "seed-0/rules/grounded.length –",
        "seed-1/rules/grounded.length",
    ]
    narrow = Table(["", "F1", "95 %", "kappa"], [cells], optional=1)
    assert narrow.lines(40)[-2:] == [
        "no room for: kappa (a wider terminal",
        "  shows them)",
    ]


def test_further_columns_repeat_both_labels_of_the_rows_with_values() -> None:
    rows = [("few", 1.0), ("a" * 45, 1.0), ("none", None)]
    cells = tuple(PaperCell(row=row, column="c", paper=1, ours=ours) for row, ours in rows)
    table = PaperComparison(table="", title="", paper="", note="", ours="", inputs={}, cells=cells)
    labels = re.findall(r"\n(\w+) +c ", "\n".join(table.lines(70)))
    assert [label for label in labels if label.strip("a")] == ["few", "none", "few", "few"]


def test_problems_are_counted_with_the_first_place() -> None:
    truth = labels_file("labels.jsonl", [[YES, NO], [YES, YES]])
    half = [(None,) * 4, NO]
    run = run_file("judge.jsonl", [evaluation(half), {}])
    report = score_judgements([run], truth, samples=100)
    assert report.by_official_scorer == {"judge": OfficialResult.REFUSED}
    warnings = list(report.warnings())
    assert len(warnings) == 2
    assert re.match(
        r"judge: null score: 4 times, 4 .*line 1, labels.jsonl line 1, turn 1, ", warnings[0]
    )
    assert re.match(r"judge: lost debate: line 2, labels.jsonl line 2: 8 ", warnings[1])
