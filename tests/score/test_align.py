"""Runs laid beside labels: what the strict policy refuses, and what the other one reports."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.cases import with_cases
from tests.records import change_parts, read_records
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
from touche_rad.debate import Maxim
from touche_rad.errors import InputError, UserError
from touche_rad.files.labels import digest
from touche_rad.score import JudgementReport, Policy, ProblemKind, score_judgements
from touche_rad.score.result import OfficialResult

LABELS = Path("truth-labels.jsonl")
DEBATES = Path("labelled.jsonl")


@pytest.fixture(autouse=True)
def _write_labels_and_debates() -> None:
    """Three debates of two turns: all yes, all no, and half of it unlabelled."""
    half = (1, 1, None, None)
    labels_file(LABELS, [[YES, YES], [NO, NO], [half, half]])
    debates_file(DEBATES, {"bees": 2, "cats": 2, "dogs": 2})


RIGHT = [
    evaluation([YES, YES], "bees"),
    evaluation([NO, NO], "cats"),
    evaluation([YES, YES], "dogs"),
]
"""What a judge who is always right says of them."""
REORDERED = [RIGHT[1], RIGHT[0], RIGHT[2]]


def assert_only_reordered(report: JudgementReport) -> None:
    """Whether the lines are in another order than the labels, and are all matched."""
    assert kinds(report) == {ProblemKind.REORDERED}
    assert [fault.number for fault in report.faults()] == [1]
    assert recall(report) == 1.0


def score_lines(*lines: Any, bad: files.BadLines | None = None, **policy: Any) -> JudgementReport:
    """Score a run of these lines."""
    run = run_file("judge.jsonl", lines)
    return score_judgements([run], LABELS, policy=Policy(**policy), samples=100, bad=bad)


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


def with_changes(lines: list[Any], changes: dict[str, Any]) -> list[Any]:
    lines = deepcopy(lines)
    change_parts(lines, changes)
    return lines


@with_cases(("what", "lines", "changes", "message"), "score/refused_by_strict.json")
def test_what_strict_refuses_in_one_line_the_other_policy_scores_and_calls_unofficial(
    what: str, lines: list[int | str], changes: dict[str, Any], message: str
) -> None:
    """A number stands for a line of `RIGHT`."""
    right_lines = [RIGHT[line] if isinstance(line, int) else line for line in lines]
    run = with_changes(right_lines, changes)
    with expect_error(message) as refusal:
        score_lines(*run, strict=True)
    assert "\n" not in str(refusal.value)
    assert "judge.jsonl" in str(refusal.value)
    assert ("without --strict" in str(refusal.value)) != (what.split()[1] in "debate turn JSON")
    if what == "no JSON":
        return
    report = score_lines(*run, debates=DEBATES)
    assert not report.official
    assert kinds(report) or what == "a byte order mark"
    assert recall(report) == (0.5 if what == "a debate missing" else 1.0)
    lost = [(2, None, 8)] if what == "a lost debate" else []
    assert places(report, ProblemKind.LOST) == lost


def test_strict_takes_what_the_official_scorer_takes() -> None:
    changes = {
        "0.userTurnsEvaluations.1.Quality.score": "0.4",
        "0.userTurnsEvaluations.1.Manner.score": True,
        "0.userTurnsEvaluations.1.Quantity.score": 7.5,
    }
    lines = with_changes(RIGHT, changes)
    strict = score_lines(*lines, strict=True)
    report = score_lines(*lines)
    assert recall(strict, "quality") == 0.75
    assert strict.rows == report.rows
    assert report.official
    assert kinds(report) == {ProblemKind.ODD_SCORE}
    assert {problem.counted_as_no for problem in report.problems} == {0}


@with_cases("odd", "score/wrong_shapes.json")
def test_wrong_shapes_are_missing_verdicts(odd: Any) -> None:
    report = score_lines(odd, *RIGHT[1:])
    assert sum(problem.counted_as_no for problem in report.problems) == 8
    assert recall(report) == 0.5


def test_missing_debates_and_turns_count_as_no() -> None:
    lines = (evaluation([YES], "bees"), RIGHT[1])
    report = score_lines(*lines, debates=DEBATES)
    assert places(report, ProblemKind.MISSING_TURN) == [(1, 2, 4)]
    assert places(report, ProblemKind.MISSING_DEBATE) == [(3, None, 4)]
    assert recall(report) == 0.25


def test_missing_verdicts_count_as_no_where_there_is_a_label() -> None:
    changes = {
        "0.userTurnsEvaluations.1.Quality.score": None,
        "1.userTurnsEvaluations.1.Quality.score": "high",
        "2.userTurnsEvaluations.1.Manner": "left out",
        "2.userTurnsEvaluations.1.Quantity": "left out",
    }
    report = score_lines(*with_changes(RIGHT, changes))
    assert places(report, ProblemKind.NULL_SCORE) == [(1, 2, 1)]
    assert places(report, ProblemKind.BAD_SCORE) == [(2, 2, 1)]
    assert places(report, ProblemKind.MISSING_VERDICT) == [(3, 2, 1), (3, 2, 0)]
    assert recall(report, "quality") == 0.75
    assert recall(report) == 0.75
    assert recall(report, "manner") == 1.0


def test_extra_turns_and_lines_are_left_out() -> None:
    lines = (evaluation([YES, YES, NO], "bees"), *RIGHT[1:], {}, evaluation([YES]))
    report = score_lines(*lines, debates=DEBATES)
    assert places(report, ProblemKind.EXTRA_TURN) == [(1, 3, 0)]
    assert places(report, ProblemKind.LOST) == [(None, None, 0)]
    assert places(report, ProblemKind.UNMATCHED) == [(None, None, 0)]
    assert recall(report) == 1.0


def test_an_unanswered_turn_that_the_client_skipped_moves_no_verdict() -> None:
    """Three user turns, the second without an answer: the client writes two verdicts."""
    labels_file(LABELS, [[YES, NO, YES], [YES, NO, YES]])
    line = evaluation([YES, YES], "bees", answered=[True, False, True])
    report = score_lines(line, line)
    assert places(report, ProblemKind.MISSING_TURN) == [(1, 2, 4), (2, 2, 4)]
    assert recall(report) == 1.0


def test_reordered_debates_find_their_labels_by_their_words() -> None:
    assert recall(score_lines(*REORDERED), "manner") == 0.0
    report = score_lines(*REORDERED, debates=DEBATES)
    assert places(report, ProblemKind.REORDERED) == [(2, None, 0), (1, None, 0)]
    assert report.by_official_scorer == {"judge": OfficialResult.WRONG}
    assert recall(report, "manner") == 1.0
    assert recall(report) == 1.0


def test_the_strict_policy_reports_other_debates_in_their_places() -> None:
    DEBATES.rename("truth.jsonl")
    assert kinds(score_lines(*REORDERED, strict=True)) == {ProblemKind.OTHER_DEBATES}


def test_lost_and_duplicate_debates_are_reported() -> None:
    lines = (RIGHT[0], RIGHT[2], {}, RIGHT[0])
    report = score_lines(*lines, debates=DEBATES)
    assert places(report, ProblemKind.LOST) == [(2, None, 8)]
    assert places(report, ProblemKind.TWICE) == [(1, None, 0)]
    assert report.lost == {"judge": 1}
    report = score_lines(RIGHT[0], RIGHT[0], RIGHT[2], debates=DEBATES)
    assert report.by_official_scorer == {"judge": OfficialResult.WRONG}
    with expect_error(r"judge\.jsonl:5: .*not on the labelled debates", InputError):
        score_lines(*lines, evaluation([YES, YES], "owls"), debates=DEBATES)


def test_a_debate_that_a_run_has_twice_is_reported_without_the_debates() -> None:
    for strict in (False, True):
        report = score_lines(RIGHT[0], RIGHT[0], RIGHT[2], strict=strict)
        lines = [row.line for row in report.problems if row.kind is ProblemKind.TWICE]
        assert lines == [2]


def test_debates_with_the_same_words_keep_apart() -> None:
    labels_file(LABELS, [[NO], [YES], [YES], [NO]])
    turns = [user_turn(name, 0) for name in ("cats", "bees", "bees", "dogs")]
    simulations = [{"simulation": {"userTurns": [turn]}} for turn in turns]
    run_file(DEBATES, simulations)
    cats = evaluation([NO], "cats")
    dogs = evaluation([NO], "dogs")
    bees = evaluation([YES], "bees")
    report = score_lines(cats, bees, bees, debates=DEBATES)
    assert kinds(report) == {ProblemKind.MISSING_DEBATE}
    for order in ((bees, dogs, cats, bees), (bees, bees, cats, dogs)):
        assert_only_reordered(score_lines(*order, debates=DEBATES))


def test_a_debate_that_is_the_beginning_of_another_one_keeps_apart() -> None:
    labels_file(LABELS, [[NO, NO, YES], [YES, YES]])
    lines = [evaluation([NO, NO, YES], "bees"), evaluation([YES, YES], "bees")]
    simulations_file(DEBATES, lines)
    report = score_lines(*lines[::-1], debates=DEBATES)
    assert_only_reordered(report)


def test_white_space_makes_no_other_words_and_an_id_goes_before_words() -> None:
    labels_file(LABELS, [[NO], [YES]])
    lines = [evaluation([score], "bees") for score in (NO, YES)]
    for name, line in zip("xy", lines, strict=True):
        line["simulation"]["id"] = name
    simulations_file(DEBATES, lines)
    spaced = json.loads(json.dumps(lines[1]).replace("is right", "is  right"))
    report = score_lines(spaced, lines[0], debates=DEBATES)
    assert_only_reordered(report)


def test_debates_with_the_same_words_have_one_score_in_any_order() -> None:
    turn = user_turn("bees", 0)
    words = digest(turn["utterance"], turn["systemResponse"]["utterance"])
    pairs = []
    for place in range(8):
        line = evaluation([(1, 0, place % 2, 1)], "bees")
        line["simulation"]["id"] = f"{place}"
        label = {**dict.fromkeys(Maxim, int(place > 4)), "words": words}
        pairs.append((line, [label]))
    rows = []
    for in_order in (pairs, pairs[::-1], [*pairs[4:], *pairs[:4]]):
        lines, labels = zip(*in_order, strict=True)
        run_file(LABELS, labels)
        simulations_file(DEBATES, lines)
        rows += [score_lines(*lines[::step], debates=DEBATES).rows for step in (1, -1)]
    assert all(of_order == rows[0] for of_order in rows)


def test_a_line_without_words_keeps_its_place() -> None:
    report = score_lines(RIGHT[0], evaluation([NO, NO]), RIGHT[2], debates=DEBATES)
    assert places(report, ProblemKind.UNMATCHED) == [(2, None, 0)]
    assert recall(report) == 1.0


def test_reordered_turns_are_refused() -> None:
    labels_file(LABELS, [[YES, NO, NO], [YES, YES, YES]])
    debates_file(DEBATES, {"bees": 3, "cats": 3})
    turned = {
        "simulation": {"userTurns": [user_turn("bees", 2), user_turn("bees", 0)]},
        "userTurnsEvaluations": [verdicts(NO), verdicts(YES)],
    }
    with expect_error(r":1: simulation\.userTurns\[0\]: .*another order", InputError):
        score_lines(turned, evaluation([YES] * 3, "cats"), debates=DEBATES)


@pytest.mark.parametrize("shape", [{"bees": 2}, {"bees": 2, "cats": 5, "dogs": 2}])
def test_debates_of_another_shape_are_refused(shape: dict[str, int]) -> None:
    debates_file(DEBATES, shape)
    with expect_error(r"labelled\.jsonl: debate 2 "):
        score_lines(*RIGHT, debates=DEBATES)


def test_digests_of_the_labels_must_be_those_of_the_debates() -> None:
    lines = read_records(LABELS)
    run_file(LABELS, [[{**turn, "words": "x"} for turn in turns] for turns in lines])
    with expect_error("debate 1 ") as in_score:
        score_lines(*RIGHT, debates=DEBATES)
    with pytest.raises(UserError) as in_bench:
        new_bench(Path("b"), {"debates": DEBATES, "labels": LABELS}, (), {}, {}, ())
    assert str(in_score.value) == str(in_bench.value)


def test_a_match_by_position_is_said_with_the_finding() -> None:
    """So that report says it, too."""
    for debates, is_said in ((None, True), (DEBATES, False)):
        words = " ".join(score_lines(*RIGHT, debates=debates).sentences())
        assert ("by position" in words) == is_said


def test_two_runs_in_different_orders_are_refused_without_the_debates() -> None:
    in_order = run_file("in-order.jsonl", RIGHT)
    reordered = run_file("reordered.jsonl", REORDERED)
    with expect_error(r"debates\.jsonl, or X\.jsonl of X-labels\.jsonl"):
        score_judgements([in_order, reordered], LABELS, samples=100)


def test_labels_with_digests_of_their_turns_know_their_debates() -> None:
    lines = read_records(LABELS)
    for name, turns in zip(("bees", "cats", "dogs"), lines, strict=True):
        for at, turn in enumerate(turns):
            record = user_turn(name, at)
            turn["words"] = digest(record["utterance"], record["systemResponse"]["utterance"])
    run_file(LABELS, lines)
    for strict in (True, False):
        report = score_lines(*RIGHT, strict=strict)
        assert report.official
        assert not kinds(report)
    with expect_error(r"judge\.jsonl:1: "):
        score_lines(*REORDERED, strict=True)


def test_another_number_of_turns_is_refused_where_the_debates_are_unknown() -> None:
    with expect_error(r" 2 .* 1", InputError) as refusal:
        score_lines(RIGHT[0], evaluation([NO], "cats"), RIGHT[2])
    assert refusal.value.line == 2
    assert refusal.value.field == "userTurnsEvaluations"
