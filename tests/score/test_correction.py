"""Corrected shares of yes and F1: their values and their intervals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.score.makers import evaluation, labels_file, run_file
from tests.terminal import touche_rad
from touche_rad.score import _correction as correction
from touche_rad.score._correction import JudgedTurns

DEBATES = np.repeat(np.arange(40), 5)
CHANCE = np.random.default_rng(7)
TRUTH = (CHANCE.random(200) < 0.7).astype(float)
SAID = np.where(CHANCE.random(200) < 0.85, TRUTH, 1 - TRUTH)


def sample(
    *, labelled: int = 40, scores: np.ndarray = SAID, truth: np.ndarray = TRUTH
) -> JudgedTurns:
    """The first `labelled` debates have labels."""
    return JudgedTurns(DEBATES, scores, np.where(labelled > DEBATES, truth, np.nan))


def plain_f1(scores: np.ndarray, truth: np.ndarray) -> float:
    return float(2 * (scores * truth).sum() / (scores.sum() + truth.sum()))


def test_with_all_turns_labelled_the_corrected_figures_are_the_plain_ones() -> None:
    whole = sample()
    assert correction.yes_rate(whole).value == pytest.approx(TRUTH.mean())
    assert correction.f1(whole).value == pytest.approx(plain_f1(SAID, TRUTH))


def test_with_few_labelled_debates_there_is_no_interval() -> None:
    assert correction.yes_rate(sample(labelled=4)).low is None
    assert correction.yes_rate(sample(labelled=5)).low is not None


def test_every_interval_contains_its_value_and_lies_between_0_and_1() -> None:
    for seed in range(50):
        chance = np.random.default_rng(seed)
        truth = (chance.random(200) < chance.random()).astype(float)
        scores = np.where(chance.random(200) < 0.5 + chance.random() / 2, truth, 1 - truth)
        for estimate in (correction.yes_rate, correction.f1):
            result = estimate(sample(labelled=12, scores=scores, truth=truth))
            if result.low is not None and result.high is not None:
                assert 0 <= result.low <= result.value <= result.high <= 1


def study(tmp_path: Path, *, labelled: int) -> tuple[Path, Path]:
    """A run of 40 debates, and labels of the first of them."""
    scores, truth = SAID.reshape(40, 5), TRUTH.reshape(40, 5)
    run = run_file(
        tmp_path / "judge.jsonl",
        [evaluation([(score,) * 4 for score in debate]) for debate in scores],
    )
    labels = [
        [(int(label) if number < labelled else None,) * 4 for label in debate]
        for number, debate in enumerate(truth)
    ]
    return run, labels_file(tmp_path / "labels.jsonl", labels)


def test_the_command_prints_the_corrected_figures_of_each_maxim(tmp_path: Path) -> None:
    run, labels = study(tmp_path, labelled=12)
    shown = touche_rad("score", run, labels, "--correct")
    assert shown.out.startswith("judge: 200 turns; labelled: 60 ")
    assert max(map(len, shown.out.splitlines())) <= 80
    rows = json.loads(touche_rad("score", run, labels, "--correct", "--json").out)["rows"]
    assert [row["maxim"] for row in rows] == ["quantity", "quality", "relation", "manner"]
    expected = correction.yes_rate(sample(labelled=12))
    for row in rows:
        assert row["judge_yes"] == pytest.approx(SAID.mean())
        assert (row["yes"], row["yes_low"]) == pytest.approx((expected.value, expected.low))
        assert row["yes_low"] < TRUTH.mean() < row["yes_high"]
        assert row["f1_low"] < plain_f1(SAID, TRUTH) < row["f1_high"]


def test_missing_verdicts_are_noes_and_reported(tmp_path: Path) -> None:
    run, labels = study(tmp_path, labelled=12)
    _, second, rest = run.read_text().split("\n", 2)
    run.write_text("\n".join(["{}", second.replace('{"score"', '{"x"', 1), rest]))
    report = json.loads(touche_rad("score", run, labels, "--correct", "--json").out)
    assert report["rows"][1]["judge_yes"] == pytest.approx(SAID[5:].sum() / 200)
    lost, missing = report["warnings"]
    assert lost == "judge: lost debate: line 1, debate 1: 20 verdicts counted as no"
    assert missing.startswith("judge: missing verdict: line 2, debate 2, turn 1, quantity: 1 ")
    assert lost in touche_rad("score", run, labels, "--correct").out


def test_labels_without_a_label_cannot_correct(tmp_path: Path) -> None:
    refused = touche_rad("score", *study(tmp_path, labelled=0), "--correct")
    assert refused.code == 2
    assert "has no label: label some turns first" in refused.err
