"""Turns that a judge's prompts show as examples are left out of its score."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.records import write_records
from tests.refusals import expect_error
from tests.report.makers import Page
from tests.score.makers import (
    NO,
    YES,
    debates_file,
    evaluation,
    labels_file,
    run_file,
    user_turn,
)
from tests.terminal import touche_rad
from touche_rad.debate import Maxim
from touche_rad.errors import InputError
from touche_rad.score import Policy, score, score_judgements

ALL = dict.fromkeys(Maxim, "yes")


def make_example(name: str, turn: int, labels: Mapping[str, str] = ALL) -> dict[str, Any]:
    """An example with the words of a turn of `makers.user_turn`."""
    record = user_turn(name, turn)
    system = record["systemResponse"]["utterance"]
    return {"user": record["utterance"], "system": system, "labels": labels}


@pytest.fixture
def truth() -> Path:
    return labels_file("labels.jsonl", [[YES, NO, (1, 0, None, 1)], [YES, YES]])


@pytest.fixture
def run() -> Path:
    """A judge that is wrong on the second turn of bees, and right elsewhere."""
    lines = [evaluation([YES, YES, (1, 0, 1, 1)], "bees"), evaluation([YES, YES], "cats")]
    return run_file("judge.jsonl", lines)


@pytest.fixture
def examples() -> Path:
    """The second turn of bees."""
    return write_records("examples.jsonl", make_example("bees", 1))


def test_an_example_is_found_by_its_words(run: Path, truth: Path) -> None:
    others = [make_example("bees", 1), make_example("dogs", 0)]
    path = write_records("examples.jsonl", *others)
    before = score_judgements([run], truth, samples=100)
    after = score_judgements([run], truth, samples=100, exclude=path)
    assert before.excluded == 0
    assert after.excluded == 1
    assert after.turns == 5
    assert before.rows[0].labelled == 5
    assert after.rows[0].labelled == 4
    assert after.rows[0].f1 == 1.0


def test_an_example_of_one_criterion_stays_in_the_scores_of_the_others(
    run: Path, truth: Path
) -> None:
    examples = [make_example("bees", 1, {"manner": "no"}), make_example("bees", 2, ALL)]
    path = write_records("examples.jsonl", *examples)
    report = score_judgements([run], truth, samples=100, exclude=path)
    rows = [row for row in report.rows if row.run == "always-yes" and row.maxim != "mean"]
    assert [(row.tp, row.fp) for row in rows] == [(3, 1), (3, 1), (3, 1), (3, 0)]
    assert "2 of them left out" in "\n".join(report.lines(200))


@pytest.fixture
def bare() -> Path:
    """A run without debates."""
    return run_file("bare.jsonl", [evaluation([YES, YES, YES]), evaluation([YES, YES])])


def test_examples_are_found_in_the_labelled_debates_too(
    bare: Path, truth: Path, examples: Path
) -> None:
    debates = debates_file("debates.jsonl", {"bees": 3, "cats": 2})
    policy = Policy(debates=debates)
    report = score_judgements([bare], truth, samples=100, policy=policy, exclude=examples)
    assert report.excluded == 1


@pytest.mark.parametrize(("strict", "error"), [(False, "1 examples"), (True, "--strict")])
def test_examples_of_other_turns_and_a_strict_policy_are_refused(
    bare: Path, truth: Path, examples: Path, strict: bool, error: str
) -> None:
    with expect_error(error):
        score([bare], truth, policy=Policy(strict=strict), exclude=examples)


def test_a_bad_line_of_examples_has_its_place(run: Path, truth: Path) -> None:
    lines = [make_example("bees", 1), {"user": "x"}]
    examples = write_records("examples.jsonl", *lines)
    with expect_error(r"examples.jsonl:2: system: ", InputError):
        score([run], truth, exclude=examples)


def test_turns_with_a_label_on_any_criterion_are_counted(run: Path) -> None:
    truth = labels_file(
        "labels.jsonl",
        [[YES, (1, None, None, None), (None, None, None, None)], [NO, (None, 1, 1, 0)]],
    )
    report = score_judgements([run], truth, samples=100)
    assert report.turns == 4
    touche_rad("report", run, "--labels", truth, "-o", "page.html")
    page = Page("page.html").data["report"]
    assert "2 labelled debates, 4 labelled turns. " in page["boards"][0]["note"]
    assert [in_common for _, in_common in page["agreement"]["rows"][1]] == [4]
