"""Turns that a judge's prompts show as examples are left out of its score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.score.makers import debates_file, evaluation, labels_file, run_file, user_turn
from touche_rad.errors import InputError, UserError
from touche_rad.score import Policy, score, score_judgements

YES, NO = (1, 1, 1, 1), (0, 0, 0, 0)


def examples_file(path: Path, examples: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in examples))
    return path


def example(name: str, turn: int, **more: Any) -> dict[str, Any]:
    """An example with the words of a turn of `makers.user_turn`."""
    said = user_turn(name, turn)
    return {"user": said["utterance"], "system": said["systemResponse"]["utterance"], **more}


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return labels_file(tmp_path / "labels.jsonl", [[YES, NO, (1, 0, None, 1)], [YES, YES]])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A judge that is wrong on the second turn of bees, and right elsewhere."""
    lines = [evaluation([YES, YES, (1, 0, 1, 1)], "bees"), evaluation([YES, YES], "cats")]
    return run_file(tmp_path / "judge.jsonl", lines)


def test_an_example_is_found_by_its_words(run: Path, truth: Path, tmp_path: Path) -> None:
    shown = examples_file(
        tmp_path / "examples.jsonl", [example("bees", 1, labels={}), example("dogs", 0)]
    )
    before = score_judgements([run], truth, samples=100)
    after = score_judgements([run], truth, samples=100, exclude=shown)
    assert before.excluded == 0
    assert after.excluded == 1
    f1 = {row.run: (row.labelled, row.f1) for row in after.rows if row.maxim == "quantity"}
    assert f1 == {"judge": (4, 1.0), "always-yes": (4, 1.0)}
    assert next(row for row in before.rows if row.maxim == "quantity").labelled == 5
    assert "5 turns, 1 of them left out" in after.lines(200)[0]


def test_an_example_is_found_by_debate_and_turn(run: Path, truth: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in run.read_text().splitlines()]
    lines[0]["simulation"]["id"] = "b"
    named = run_file(tmp_path / "named.jsonl", lines)
    shown = [{"debate": "b", "turn": 2, "user": "cut", "system": "cut", "labels": {}}]
    examples = examples_file(tmp_path / "examples.jsonl", shown)
    report = score_judgements([named], truth, samples=100, exclude=examples)
    assert report.excluded == 1
    assert report.rows[0].f1 == 1.0


def test_examples_are_found_in_the_labelled_debates_too(truth: Path, tmp_path: Path) -> None:
    bare = run_file(tmp_path / "bare.jsonl", [evaluation([YES, YES, YES]), evaluation([YES, YES])])
    shown = examples_file(tmp_path / "examples.jsonl", [example("bees", 1)])
    debates = debates_file(tmp_path / "debates.jsonl", {"bees": 3, "cats": 2})
    policy = Policy(debates=debates)
    report = score([bare], truth, samples=100, policy=policy, exclude=shown)
    assert report.lines(200)[0].endswith("1 of them left out")
    by_place = Policy(by_place=True)
    with pytest.raises(UserError, match="none of its 1 examples is among the labelled turns"):
        score([bare], truth, samples=100, policy=by_place, exclude=shown)


def test_the_official_policy_leaves_nothing_out_and_a_bad_line_has_its_place(
    run: Path, truth: Path, tmp_path: Path
) -> None:
    shown = examples_file(tmp_path / "examples.jsonl", [example("bees", 1), {"user": "x"}])
    with pytest.raises(UserError, match="--strict"):
        score([run], truth, policy=Policy(strict=True), exclude=shown)
    with pytest.raises(InputError, match=r"examples.jsonl:2: system: missing"):
        score([run], truth, exclude=shown)
