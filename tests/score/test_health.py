"""What can be told of responses without any label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.score.makers import evaluation, run_file, user_turn
from touche_rad.score import health
from touche_rad.score.result import MARKS


def answer(content: str, *cited: tuple[str, str]) -> dict[str, Any]:
    arguments = [{"id": name, "text": text} for name, text in cited]
    return {
        "utterance": "And why is that so?",
        "systemResponse": {
            "utterance": content,
            "response": {"content": content, "arguments": arguments},
        },
    }


def simulation(*turns: dict[str, Any]) -> dict[str, Any]:
    return {"simulation": {"userTurns": list(turns)}}


ONE = ("1.1", "Bees make honey.")


def test_each_mark_is_counted(tmp_path: Path) -> None:
    path = run_file(
        tmp_path / "simulations.jsonl",
        [
            simulation(
                answer("word " * 60, ONE),
                answer("word " * 61, ONE),
                answer("", ONE),
                answer("Bees make honey.", ONE, ONE),
                answer("bees make  HONEY!", ONE),
            ),
            simulation(
                answer("Bees make honey."),
                answer("They do.", ("1", "A."), ("2", "B."), ("3", " ")),
                user_turn("bees", 3, answered=False),
            ),
        ],
    )
    found = health(path)
    assert (found.debates, found.turns, found.responses, found.unanswered) == (2, 8, 7, 1)
    assert (found.words_median, found.words_max) == (3, 61)
    assert {name: getattr(found, name) for name in MARKS} == dict.fromkeys(MARKS, 1)
    # repeated: within a debate, whatever case and punctuation; not across debates


def test_lost_debates_and_responses_in_evaluations_are_counted(tmp_path: Path) -> None:
    path = run_file(tmp_path / "s.jsonl", [simulation(answer("Bees.", ONE)), {}, {}])
    result = health(path)
    assert (result.debates, result.lost_debates, result.responses) == (1, 2, 1)
    path = run_file(tmp_path / "e.jsonl", [evaluation([(1, 1, 1, 1)] * 3, "bees")])
    result = health(path)
    assert (result.responses, result.without_citation, result.words_max) == (3, 0, 5)


def test_a_file_without_any_response_has_no_lengths(tmp_path: Path) -> None:
    path = run_file(tmp_path / "s.jsonl", [simulation(user_turn("bees", 0, answered=False))])
    result = health(path)
    assert (result.responses, result.unanswered) == (0, 1)
    assert (result.words_median, result.words_max) == (None, None)
