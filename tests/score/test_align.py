"""Runs laid beside labels: what the strict policy refuses, and what the other one reports."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.records import read_cases, read_records
from tests.refusals import expect_error
from tests.score.makers import (
    NO,
    YES,
    debates_file,
    evaluation,
    labels_file,
    run_file,
    simulations_file,
    user_turn,
    verdicts,
)
from touche_rad import files
from touche_rad.bench.new import new_bench
from touche_rad.errors import InputError, UserError
from touche_rad.files.labels import digest
from touche_rad.score import JudgementReport, Policy, ProblemKind, score_judgements
from touche_rad.score.result import OfficialResult


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    """Three debates of two turns: all yes, all no, and half of it unlabelled."""
    half = (1, 1, None, None)
    return labels_file(tmp_path / "truth-labels.jsonl", [[YES, YES], [NO, NO], [half, half]])


@pytest.fixture
def debates(tmp_path: Path) -> Path:
    """The debates that the labels belong to."""
    return debates_file(tmp_path / "labelled.jsonl", {"bees": 2, "cats": 2, "dogs": 2})


RIGHT = [
    evaluation([YES, YES], "bees"),
    evaluation([NO, NO], "cats"),
    evaluation([YES, YES], "dogs"),
]
"""What a judge who is always right says of them."""
REORDERED = [RIGHT[1], RIGHT[0], RIGHT[2]]


def score_lines(
    truth: Path, *lines: Any, bad: files.BadLines | None = None, **policy: Any
) -> JudgementReport:
    """Score a run of these lines."""
    run = run_file(truth.with_name("judge.jsonl"), lines)
    return score_judgements([run], truth, policy=Policy(**policy), samples=100, bad=bad)


def places(report: JudgementReport, kind: ProblemKind) -> list[tuple[int | None, int | None, int]]:
    """Return debate, turn and verdicts counted as no of each problem of a kind."""
    return [
        (problem.debate, problem.turn, problem.counted_as_no)
        for problem in report.problems
        if problem.kind is kind
    ]


def kinds(report: JudgementReport) -> set[ProblemKind]:
    return {problem.kind for problem in report.problems} - {ProblemKind.FEW}


def recall(report: JudgementReport, maxim: str = "quantity") -> float:
    run = report.runs[0]
    return next(row.recall for row in report.rows if (row.run, row.maxim) == (run, maxim))


def without(line: Any, maxim: str) -> Any:
    line = deepcopy(line)
    del line["userTurnsEvaluations"][1][maxim]
    return line


def with_score(line: Any, maxim: str, score: Any) -> Any:
    line = deepcopy(line)
    line["userTurnsEvaluations"][1][maxim]["score"] = score
    return line


REFUSED = {
    "a debate missing": (RIGHT[:2], "expected 3 lines .* got 2"),
    "a debate more": ([*RIGHT, RIGHT[0]], "expected 3 lines .* got 4"),
    "a turn missing": (
        [RIGHT[0], evaluation([NO]), RIGHT[2]],
        ":2: userTurnsEvaluations: expected 2 turns .* got 1",
    ),
    "a turn more": (
        [evaluation([YES] * 3), *RIGHT[1:]],
        ":1: userTurnsEvaluations: expected 2 turns .* got 3",
    ),
    "a lost debate": ([RIGHT[0], {}, RIGHT[2]], r":2: userTurnsEvaluations: .*required"),
    "a blank line": ([RIGHT[0], "", *RIGHT[1:]], ":2: "),
    "a blank last line": ([*RIGHT, ""], ":4: "),
    "no JSON": ([RIGHT[0], '{"userTurnsEvaluations": [', RIGHT[2]], ":2: "),
    "a criterion missing": (
        [RIGHT[0], RIGHT[1], without(RIGHT[2], "Manner")],
        r":3: userTurnsEvaluations\.1\.Manner: ",
    ),
    "a null score": (
        [with_score(RIGHT[0], "Quality", None), *RIGHT[1:]],
        r":1: userTurnsEvaluations\.1\.Quality\.score: ",
    ),
    "a score in words": ([with_score(RIGHT[0], "Quality", "high"), *RIGHT[1:]], r"Quality\.score"),
    "a byte order mark": (["\ufeff" + json.dumps(RIGHT[0]), *RIGHT[1:]], r"judge\.jsonl:1: "),
}


@pytest.mark.parametrize("what", REFUSED)
def test_strict_gives_no_score_and_one_line(what: str, truth: Path) -> None:
    lines, message = REFUSED[what]
    with expect_error(message) as refusal:
        score_lines(truth, *lines, strict=True)
    assert "\n" not in str(refusal.value)
    assert "judge.jsonl" in str(refusal.value)
    assert ("without --strict" in str(refusal.value)) != (what.split()[1] in "debate turn JSON")


@pytest.mark.parametrize("what", [what for what in REFUSED if what != "no JSON"])
def test_what_strict_refuses_the_other_policy_scores_and_calls_unofficial(
    what: str, truth: Path, debates: Path
) -> None:
    report = score_lines(truth, *REFUSED[what][0], debates=debates)
    assert not report.official
    assert kinds(report) or what == "a byte order mark"
    assert recall(report) == (0.5 if what == "a debate missing" else 1.0)
    lost = [(2, None, 8)] if what == "a lost debate" else []
    assert places(report, ProblemKind.LOST) == lost


def test_strict_takes_what_the_official_scorer_takes(truth: Path) -> None:
    odd = with_score(with_score(RIGHT[0], "Quality", "0.4"), "Manner", True)
    lines = [with_score(odd, "Quantity", 7.5), *RIGHT[1:]]
    strict = score_lines(truth, *lines, strict=True)
    report = score_lines(truth, *lines)
    assert recall(strict, "quality") == 0.75
    assert strict.rows == report.rows
    assert report.official
    assert kinds(report) == {ProblemKind.ODD_SCORE}
    assert {problem.counted_as_no for problem in report.problems} == {0}


@pytest.mark.parametrize(
    "odd",
    read_cases("score/wrong_shapes.json"),
)
def test_wrong_shapes_are_missing_verdicts(odd: Any, truth: Path) -> None:
    report = score_lines(truth, odd, *RIGHT[1:])
    assert sum(problem.counted_as_no for problem in report.problems) == 8
    assert recall(report) == 0.5


def test_missing_debates_and_turns_count_as_no(truth: Path, debates: Path) -> None:
    lines = (evaluation([YES], "bees"), RIGHT[1])
    report = score_lines(truth, *lines, debates=debates)
    assert places(report, ProblemKind.MISSING_TURN) == [(1, 2, 4)]
    assert places(report, ProblemKind.MISSING_DEBATE) == [(3, None, 4)]
    assert recall(report) == 0.25


def test_missing_verdicts_count_as_no_where_there_is_a_label(truth: Path) -> None:
    report = score_lines(
        truth,
        with_score(RIGHT[0], "Quality", None),
        with_score(RIGHT[1], "Quality", "high"),
        without(without(RIGHT[2], "Manner"), "Quantity"),
    )
    assert places(report, ProblemKind.NULL_SCORE) == [(1, 2, 1)]
    assert places(report, ProblemKind.BAD_SCORE) == [(2, 2, 1)]
    assert places(report, ProblemKind.MISSING_VERDICT) == [(3, 2, 1), (3, 2, 0)]
    assert recall(report, "quality") == 0.75
    assert recall(report) == 0.75
    assert recall(report, "manner") == 1.0


def test_extra_turns_and_lines_are_left_out(truth: Path, debates: Path) -> None:
    lines = (evaluation([YES, YES, NO], "bees"), *RIGHT[1:], {}, evaluation([YES]))
    report = score_lines(truth, *lines, debates=debates)
    assert places(report, ProblemKind.EXTRA_TURN) == [(1, 3, 0)]
    assert places(report, ProblemKind.LOST) == [(None, None, 0)]
    assert places(report, ProblemKind.UNMATCHED) == [(None, None, 0)]
    assert recall(report) == 1.0


def test_an_unanswered_turn_that_the_client_skipped_moves_no_verdict(tmp_path: Path) -> None:
    """Three user turns, the second without an answer: the client writes two verdicts."""
    truth = labels_file(tmp_path / "labels.jsonl", [[YES, NO, YES], [YES, NO, YES]])
    line = evaluation([YES, YES], "bees", answered=[True, False, True])
    report = score_lines(truth, line, line)
    assert places(report, ProblemKind.MISSING_TURN) == [(1, 2, 4), (2, 2, 4)]
    assert recall(report) == 1.0


def test_reordered_debates_find_their_labels_by_their_words(truth: Path, debates: Path) -> None:
    assert recall(score_lines(truth, *REORDERED), "manner") == 0.0
    report = score_lines(truth, *REORDERED, debates=debates)
    assert places(report, ProblemKind.REORDERED) == [(2, None, 0), (1, None, 0)]
    assert report.by_official_scorer == {"judge": OfficialResult.WRONG}
    assert recall(report, "manner") == 1.0
    assert recall(report) == 1.0


def test_the_strict_policy_reports_other_debates_in_their_places(
    truth: Path, debates: Path
) -> None:
    debates.rename(truth.with_name("truth.jsonl"))
    assert kinds(score_lines(truth, *REORDERED, strict=True)) == {ProblemKind.OTHER_DEBATES}


def test_lost_and_duplicate_debates_are_reported(truth: Path, debates: Path) -> None:
    lines = (RIGHT[0], {}, RIGHT[0], RIGHT[2])
    report = score_lines(truth, *lines, debates=debates)
    assert places(report, ProblemKind.LOST) == [(2, None, 8)]
    assert places(report, ProblemKind.TWICE) == [(1, None, 0)]
    assert report.lost == {"judge": 1}
    with expect_error(r"judge\.jsonl:5: .*not on the labelled debates", InputError):
        score_lines(truth, *lines, evaluation([YES, YES], "owls"), debates=debates)


def test_a_debate_that_a_run_has_twice_is_reported_without_the_debates(truth: Path) -> None:
    for strict in (False, True):
        report = score_lines(truth, RIGHT[0], RIGHT[0], RIGHT[2], strict=strict)
        lines = [row.line for row in report.problems if row.kind is ProblemKind.TWICE]
        assert lines == [2]


def test_debates_with_the_same_words_keep_apart(tmp_path: Path) -> None:
    truth = labels_file(tmp_path / "labels.jsonl", [[NO], [YES], [YES], [NO]])
    turns = [user_turn(name, 0) for name in ("cats", "bees", "bees", "dogs")]
    simulations = [{"simulation": {"userTurns": [turn]}} for turn in turns]
    debates = run_file(tmp_path / "others.jsonl", simulations)
    cats = evaluation([NO], "cats")
    dogs = evaluation([NO], "dogs")
    bees = evaluation([YES], "bees")
    report = score_lines(truth, cats, bees, bees, debates=debates)
    assert kinds(report) == {ProblemKind.MISSING_DEBATE}
    report = score_lines(truth, bees, dogs, cats, bees, debates=debates)
    assert kinds(report) == {ProblemKind.REORDERED}
    assert recall(report) == 1.0


def test_a_debate_that_is_the_beginning_of_another_one_keeps_apart(tmp_path: Path) -> None:
    truth = labels_file(tmp_path / "labels.jsonl", [[NO, NO, YES], [YES, YES]])
    lines = [evaluation([NO, NO, YES], "bees"), evaluation([YES, YES], "bees")]
    debates = simulations_file(tmp_path / "others.jsonl", lines)
    report = score_lines(truth, *lines[::-1], debates=debates)
    assert kinds(report) == {ProblemKind.REORDERED}
    assert recall(report) == 1.0


def test_white_space_makes_no_other_words_and_an_id_goes_before_words(tmp_path: Path) -> None:
    truth = labels_file(tmp_path / "labels.jsonl", [[NO], [YES]])
    lines = [evaluation([score], "bees") for score in (NO, YES)]
    for name, line in zip("xy", lines, strict=True):
        line["simulation"]["id"] = name
    debates = simulations_file(tmp_path / "others.jsonl", lines)
    spaced = json.loads(json.dumps(lines[1]).replace("is right", "is  right"))
    report = score_lines(truth, spaced, lines[0], debates=debates)
    assert kinds(report) == {ProblemKind.REORDERED}
    assert recall(report) == 1.0


def test_a_line_without_words_keeps_its_place(truth: Path, debates: Path) -> None:
    report = score_lines(truth, RIGHT[0], evaluation([NO, NO]), RIGHT[2], debates=debates)
    assert places(report, ProblemKind.UNMATCHED) == [(2, None, 0)]
    assert recall(report) == 1.0


def test_reordered_turns_are_refused(tmp_path: Path) -> None:
    truth = labels_file(tmp_path / "labels.jsonl", [[YES, NO, NO], [YES, YES, YES]])
    debates = debates_file(tmp_path / "others.jsonl", {"bees": 3, "cats": 3})
    turned = {
        "simulation": {"userTurns": [user_turn("bees", 2), user_turn("bees", 0)]},
        "userTurnsEvaluations": [verdicts(NO), verdicts(YES)],
    }
    with expect_error(r":1: simulation\.userTurns\[0\]: .*another order", InputError):
        score_lines(truth, turned, evaluation([YES] * 3, "cats"), debates=debates)


@pytest.mark.parametrize("shape", [{"bees": 2}, {"bees": 2, "cats": 5, "dogs": 2}])
def test_debates_of_another_shape_are_refused(
    shape: dict[str, int], truth: Path, tmp_path: Path
) -> None:
    debates = debates_file(tmp_path / "other.jsonl", shape)
    with expect_error(r"other\.jsonl: debate 2 "):
        score_lines(truth, *RIGHT, debates=debates)


def test_digests_of_the_labels_must_be_those_of_the_debates(truth: Path, debates: Path) -> None:
    lines = read_records(truth)
    run_file(truth, [[{**turn, "words": "x"} for turn in turns] for turns in lines])
    with expect_error("debate 1 ") as in_score:
        score_lines(truth, *RIGHT, debates=debates)
    with pytest.raises(UserError) as in_bench:
        new_bench(truth.with_name("b"), {"debates": debates, "labels": truth}, (), {}, {}, ())
    assert str(in_score.value) == str(in_bench.value)


def test_two_runs_in_different_orders_are_refused_without_the_debates(
    truth: Path, tmp_path: Path
) -> None:
    in_order = run_file(tmp_path / "in-order.jsonl", RIGHT)
    reordered = run_file(tmp_path / "reordered.jsonl", REORDERED)
    with expect_error(r"debates\.jsonl, or X\.jsonl of X-labels\.jsonl"):
        score_judgements([in_order, reordered], truth, samples=100)


def test_labels_with_digests_of_their_turns_know_their_debates(truth: Path) -> None:
    lines = read_records(truth)
    for name, turns in zip(("bees", "cats", "dogs"), lines, strict=True):
        for at, turn in enumerate(turns):
            record = user_turn(name, at)
            turn["words"] = digest(record["utterance"], record["systemResponse"]["utterance"])
    run_file(truth, lines)
    for strict in (True, False):
        report = score_lines(truth, *RIGHT, strict=strict)
        assert report.official
        assert not kinds(report)
    with expect_error(r"judge\.jsonl:1: "):
        score_lines(truth, *REORDERED, strict=True)


def test_another_number_of_turns_is_refused_where_the_debates_are_unknown(truth: Path) -> None:
    with expect_error(r" 2 .* 1", InputError) as refusal:
        score_lines(truth, RIGHT[0], evaluation([NO], "cats"), RIGHT[2])
    assert refusal.value.line == 2
    assert refusal.value.field == "userTurnsEvaluations"
