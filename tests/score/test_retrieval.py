"""Retrieval runs against qrels, with figures by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.records import END_OF_RUN
from tests.refusals import expect_error
from tests.terminal import touche_rad
from touche_rad.score import ProblemKind, RetrievalReport, score, score_retrieval

QRELS = """\
q1 0 a 1
q1 0 b 1
q1 0 c 0
q2 0 a 1
q3 0 d 1
"""
RUN = """\
q1 Q0 c 1 3.5 tag
q1 Q0 a 2 2.5 tag
q1 Q0 x 3 1.5 tag
q2 Q0 a 1 9.0 tag
q9 Q0 a 1 9.0 tag
"""
SECOND_RUN = """\
q1 Q0 a 1 3.5 tag
q1 Q0 b 2 2.5 tag
q2 Q0 z 1 9.0 tag
q2 Q0 a 2 8.0 tag
q3 Q0 d 1 1.0 tag
"""


def write_text(name: str | Path, text: str) -> Path:
    path = Path(name)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def qrels() -> Path:
    return write_text("qrels.txt", QRELS)


@pytest.fixture
def run() -> Path:
    return write_text("one.run", RUN)


@pytest.fixture
def second_run() -> Path:
    return write_text("two.run", SECOND_RUN)


def values(report: RetrievalReport, run: str) -> dict[str, float]:
    return {row.measure: row.value for row in report.rows if row.run == run}


def test_figures_by_hand(run: Path, qrels: Path) -> None:
    report = score_retrieval([run], qrels, samples=100)
    result = values(report, "one")
    assert result["RR"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert result["R@10"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    ndcg = (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    assert result["nDCG@10"] == pytest.approx((ndcg + 1 + 0) / 3)
    assert report.queries == 3


def test_runs_from_different_indexes_are_named(run: Path, second_run: Path, qrels: Path) -> None:
    for path in (run, second_run):
        record = END_OF_RUN | {"output": path.name, "identity": {"index": path.name}}
        path.with_name(f"{path.name}.status.json").write_text(json.dumps(record))
    ended = touche_rad("score", run, second_run, qrels)
    assert "warning: runs from different indexes: one; two" in ended.err


def test_missing_and_unknown_queries_are_reported(run: Path, qrels: Path) -> None:
    report = score_retrieval([run], qrels, samples=100)
    assert [(result.kind, result.message) for result in report.problems] == [
        (ProblemKind.NO_QUERY, "q3 counts as 0"),
        (ProblemKind.EXTRA_QUERY, "q9 is left out"),
    ]


def test_a_run_on_other_queries_is_refused_and_others_are_scored(run: Path, qrels: Path) -> None:
    wrong = write_text("wrong.run", "topic1 Q0 a 1 1 t\n")
    ended = touche_rad("score", run, wrong, qrels, code=1, out="one")
    for fact in ("wrong.run: ", "qrels.txt", "'q1'", "'topic1'"):
        assert fact in ended.err
    touche_rad("score", wrong, qrels, code=2)


def test_runs_are_paired_by_query_whatever_order_they_come_in() -> None:
    """The same hits in another order, one query missing: only that query makes a difference."""
    queries = [f"q{number:02d}" for number in range(12)]
    qrels = write_text("qrels", "".join(f"{query} 0 a 1\n" for query in queries))
    ranks = {query: 1 + at % 3 for at, query in enumerate(queries)}

    def write_run(name: str, queries_of_run: list[str]) -> Path:
        lines = []
        for query in queries_of_run:
            for rank in (1, 2, 3):
                document = "a" if rank == ranks[query] else f"x{rank}"
                lines.append(f"{query} Q0 {document} {rank} {9 - rank} t\n")
        return write_text(f"{name}.run", "".join(lines))

    complete = write_run("complete", queries)
    reversed_run = write_run("reversed", queries[::-1])
    less = write_run("less", queries[1:])
    report = score_retrieval([complete, reversed_run, less], qrels, samples=400)
    same, lost = (result for result in report.comparisons if result.measure == "RR")
    assert [(row.run, row.against) for row in (same, lost)] == [
        ("reversed", "complete"),
        ("less", "complete"),
    ]
    assert (same.difference, same.p) == (0.0, 1.0)
    assert lost.difference == pytest.approx(-1 / 12)
    assert lost.high is not None
    assert lost.high < 0.1  # the swing of one query in twelve, not of twelve unpaired ones


def test_a_bad_run_is_listed_and_the_others_are_scored(
    run: Path, second_run: Path, qrels: Path
) -> None:
    write_text(run, "broken")
    report = score_retrieval([run, second_run], qrels, samples=100)
    assert report.runs == ("two",)
    assert report.refused["one"].startswith(f"{run}:1: ")


def test_score_takes_qrels(run: Path, second_run: Path, qrels: Path) -> None:
    report = score([run, second_run], qrels, samples=200, baselines=[run])
    assert isinstance(report, RetrievalReport)
    pairs = {(comparison.run, comparison.against) for comparison in report.comparisons}
    assert pairs == {("two", "one")}
    with expect_error(r"baseline .*two\.run"):
        score([run], qrels, baselines=[second_run])
