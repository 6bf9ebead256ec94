"""The `ir_measures` command and `touche-rad score` agree."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.score.makers import Four, evaluation, ir_measures, labels_file, run_file
from touche_rad.score import export, score_judgements

MEASURES = "SetP SetR SetF"


LABELS = [[(1, 0, 1, 1), (0, 1, None, 0)], [(1, 1, 0, None), (1, None, 1, 0), (0, 1, 1, 1)]]
SCORES = {
    "mixed": [
        [(0.9, 0.2, 0.5, 0.1), (0.6, 0.8, 1, 1)],
        [(0.4, 0.7, 0.9, 1), (1, 1, 0.3, 0), (0, 0.51, 0.5, 0.499)],
    ],
    "never": [[(0, 0, 0, 0)] * 2, [(0, 0, 0, 0)] * 3],
    "sparing": [[(1, 0, 0, 0)] * 2, [(0, 0, 0, 0)] * 3],
    "always": [[(1, 1, 1, 1)] * 2, [(1, 1, 1, 1)] * 3],
}


def by_chance(seed: int) -> tuple[list[list[Four]], list[list[Four]]]:
    """Labels and scores of 30 debates of four turns, some of them missing."""
    chance = random.Random(seed)

    def turns(values: Sequence[float | None]) -> list[list[Four]]:
        return [[chance.choices(values, k=4) for _ in range(4)] for _ in range(30)]

    return turns([0, 1, 1, None]), turns([None, 0.0, 0.3, 0.5, 0.77, 1.0])


@pytest.mark.parametrize("case", [*SCORES, 1, 2, 3, 4, 5])
def test_the_command_prints_the_rows_of_the_report(case: str | int, tmp_path: Path) -> None:
    labels, scores = by_chance(case) if isinstance(case, int) else (LABELS, SCORES[case])
    truth = labels_file(tmp_path / "labels.jsonl", labels)
    run = run_file(tmp_path / "my run.jsonl", [evaluation(turns) for turns in scores])
    report = score_judgements([run], truth, samples=100)
    printed = ir_measures(*export(report, tmp_path / "out")[:2], MEASURES)
    assert len(printed) == 15
    for row in report.rows:
        if row.run != "always-yes":
            query = "all" if row.maxim == "mean" else row.maxim
            own = (row.precision, row.recall, row.f1)
            values = tuple(printed[query, measure] for measure in MEASURES.split())
            assert values == (pytest.approx(own) if query == "all" else own)


def test_a_report_is_exported_for_each_of_its_runs(tmp_path: Path) -> None:
    """Names that make the same file name overwrite nothing."""
    truth = labels_file(tmp_path / "labels.jsonl", LABELS)
    runs = [
        run_file(tmp_path / f"{name}.jsonl", [evaluation(turns) for turns in SCORES[scores]])
        for name, scores in (("a b", "mixed"), ("a&b", "always"))
    ]
    out = tmp_path / "out"
    written = export(score_judgements(runs, truth, samples=100), out)
    assert [path.relative_to(out).as_posix() for path in written] == [
        "labels.qrels",
        "a_b.run",
        "a_b/evaluation.prototext",
        "a_b_.run",
        "a_b_/evaluation.prototext",
    ]
    assert ir_measures(written[0], written[3], MEASURES)["quantity", "SetR"] == 1.0
