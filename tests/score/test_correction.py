"""Corrected shares of yes and F1: their values and their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.records import read_records
from tests.score.makers import evaluation, labels_file, run_file
from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad.score import _correction as correction
from touche_rad.score._correction import JudgedTurns

DEBATES = np.repeat(np.arange(40), 5)
RANDOM = np.random.default_rng(7)
TRUTH = (RANDOM.random(200) < 0.7).astype(float)
JUDGED = np.where(RANDOM.random(200) < 0.85, TRUTH, 1 - TRUTH)


def sample(
    *, labelled: int = 40, scores: np.ndarray = JUDGED, truth: np.ndarray = TRUTH
) -> JudgedTurns:
    """The first `labelled` debates have labels."""
    return JudgedTurns(DEBATES, scores, np.where(labelled > DEBATES, truth, np.nan))


def plain_f1(scores: np.ndarray, truth: np.ndarray) -> float:
    return float(2 * (scores * truth).sum() / (scores.sum() + truth.sum()))


def test_with_all_turns_labelled_the_corrected_figures_are_the_plain_ones() -> None:
    turns = sample()
    assert correction.yes_rate(turns).value == pytest.approx(TRUTH.mean())
    assert correction.f1(turns).value == pytest.approx(plain_f1(JUDGED, TRUTH))  # type: ignore[union-attr]


def test_an_f1_is_possible_if_nearly_all_turns_have_a_label() -> None:
    # The judge says yes on 35 turns, and no on 25; two of these have no label.
    truth = np.array([1.0] * 34 + [0] + [1] * 4 + [0] * 19 + [np.nan] * 2)
    turns = JudgedTurns(np.arange(60), np.repeat([1.0, 0.0], [35, 25]), truth)
    assert correction.f1(turns).value == pytest.approx(68 / (35 + 34 + 4 * 25 / 23))


def test_with_few_labelled_debates_there_is_no_interval() -> None:
    for labelled in (5, 6):
        row, *_ = corrected(*write_study(labelled=labelled))["rows"]
        assert (row["low"] is None) == (labelled == 5)


def test_every_interval_contains_its_value_and_lies_between_0_and_1() -> None:
    for seed in range(50):
        generator = np.random.default_rng(seed)
        truth = (generator.random(200) < generator.random()).astype(float)
        scores = np.where(generator.random(200) < 0.5 + generator.random() / 2, truth, 1 - truth)
        for estimate in (correction.yes_rate, correction.f1):
            turns = sample(labelled=12, scores=scores, truth=truth)
            mean = estimate(turns)
            if mean is not None:
                result = correction.interval(mean, turns)
                low, high = result.interval
                assert 0 <= low <= result.value <= high <= 1


def write_study(*, labelled: int) -> tuple[Path, Path]:
    """Write a run of 40 debates, and labels of the first of them."""
    lines = []
    labels = []
    for number in range(40):
        turns = slice(5 * number, 5 * number + 5)
        lines.append(evaluation([(score,) * 4 for score in JUDGED[turns]]))
        known = number < labelled
        labels.append([(int(label) if known else None,) * 4 for label in TRUTH[turns]])
    return (
        run_file("judge.jsonl", lines),
        labels_file("labels.jsonl", labels),
    )


def corrected(run: Path, labels: Path) -> dict[str, Any]:
    """Return the JSON output of `score --correct`."""
    return touche_rad("score --correct --json", run, labels).json  # type: ignore[no-any-return]


def test_the_command_prints_the_corrected_figures_of_each_maxim() -> None:
    write_study(labelled=12)
    ended = touche_rad("score judge.jsonl labels.jsonl --correct")
    check_screen("score.correct", ended)


def test_missing_verdicts_are_noes_and_reported() -> None:
    run, labels = write_study(labelled=12)
    _, second, rest = run.read_text().split("\n", 2)
    run.write_text("\n".join(["{}", second.replace('{"score"', '{"x"', 1), rest]))
    report = corrected(run, labels)
    assert report["rows"][2]["judge_yes"] == pytest.approx(JUDGED[5:].sum() / 200)
    assert "missing or lost debates, which count as no: judge 1" in str(report["notes"])
    lost, missing, *_ = report["notes"]
    assert lost.startswith("judge: lost debate: line 1, labels.jsonl line 1: 20 ")
    assert missing.startswith(
        "judge: missing verdict: line 2, labels.jsonl line 2, turn 1, quantity: 1 "
    )
    touche_rad("score --correct", run, labels, out=lost)


@pytest.mark.parametrize("chosen", [False, True])
def test_labels_that_are_no_random_sample_are_named(chosen: bool) -> None:
    run, labels = write_study(labelled=24)
    if chosen:  # only where the label is yes
        lines = read_records(labels)
        for turns in lines:
            for turn in turns:
                turn["quality"] = turn["quality"] or None
        run_file(labels, lines)
    report = corrected(run, labels)
    named = [text.split(": ")[1] for text in report["notes"] if "no random sample" in text]
    assert named == ["quality"] * chosen


def test_labels_without_a_label_cannot_correct() -> None:
    run, labels = write_study(labelled=1)
    labels.write_text(labels.read_text().replace(": 1", ": null"))
    touche_rad("score --correct", run, labels, out="–: F1 is of answers yes or no")
    touche_rad("score --correct", *write_study(labelled=0), code=2, err="labels.jsonl")
