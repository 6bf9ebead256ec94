"""What can be told of responses without any label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.score.makers import evaluation, run_file, user_turn
from touche_rad.score import health


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
    assert found.over_60_words == 1
    assert found.empty == 1
    assert found.repeated == 1, "within a debate, whatever case and punctuation; not across debates"
    assert found.duplicate_citations == 1
    assert found.without_citation == 1
    assert found.over_2_citations == 1
    assert found.citations_without_text == 1


def test_lost_debates_are_counted(tmp_path: Path) -> None:
    path = run_file(tmp_path / "s.jsonl", [simulation(answer("Bees.", ONE)), {}, {}])
    found = health(path)
    assert (found.debates, found.lost_debates, found.responses) == (1, 2, 1)


def test_evaluations_have_the_health_of_what_they_judge(tmp_path: Path) -> None:
    path = run_file(tmp_path / "e.jsonl", [evaluation([(1, 1, 1, 1)] * 3, "bees")])
    found = health(path)
    assert (found.responses, found.without_citation, found.words_max) == (3, 0, 5)


def test_a_file_without_any_response_has_no_lengths(tmp_path: Path) -> None:
    path = run_file(tmp_path / "s.jsonl", [simulation(user_turn("bees", 0, answered=False))])
    found = health(path)
    assert (found.responses, found.unanswered, found.words_median, found.words_max) == (
        0,
        1,
        None,
        None,
    )
