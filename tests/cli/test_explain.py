"""`respond --explain`: the candidates of an answer, short, complete, and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.terminal import touche_rad
from touche_rad.demo import demo_file

ZOOS = ("respond", "--say", "Zoos should be closed.")


def _rows(*args: str | Path) -> list[dict[str, Any]]:
    shown = touche_rad(*args, "--explain", "--json")
    assert shown.code == 0, shown.err
    return [json.loads(line) for line in shown.out.splitlines()]


def test_json_has_every_candidate_with_every_feature() -> None:
    rows = _rows(*ZOOS)
    assert len(rows) > 5
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(row["features"] for row in rows)
    (chosen,) = [row for row in rows if row["chosen"]]
    answered = json.loads(touche_rad(*ZOOS, "--json").out)
    assert chosen["id"] == answered["arguments"][0]["id"]


@pytest.mark.parametrize(
    ("columns", "debater"), [(50, "verbatim"), (80, "grounded"), (120, "verbatim")]
)
def test_an_explanation_has_at_most_20_lines_that_fit(columns: int, debater: str) -> None:
    shown = touche_rad(*ZOOS, "--explain", "-d", debater, env={"COLUMNS": str(columns)})
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    assert 5 < len(lines) <= 20
    assert max(map(cell_len, lines)) <= columns
    assert sum(line.startswith("> ") for line in lines) == 1
    assert "which has the best score" in shown.out


def test_the_feature_that_counts_most_comes_first() -> None:
    features = _rows(*ZOOS)[0]["features"]
    most = max(features, key=lambda name: abs(features[name]["adds"]))
    assert f"      {most} " in touche_rad(*ZOOS, "--explain").out


def test_each_turn_of_a_file_has_at_most_20_lines(tmp_path: Path) -> None:
    source = tmp_path / "debates.jsonl"
    first = demo_file("debates.jsonl").read_text("utf-8").splitlines()[0]
    source.write_text(first + "\n")
    shown = touche_rad("respond", source, "-i", "demo", "--explain", env={"COLUMNS": "60"})
    assert shown.code == 0, shown.err
    assert shown.out.count(" turn ") == 3, shown.err
    assert len(shown.out.splitlines()) <= 20 * 3
    assert {row["turn"] for row in _rows("respond", source, "-i", "demo")} == {0, 1, 2}


def test_a_model_may_choose_another_candidate_than_the_best(tmp_path: Path) -> None:
    best = next(row for row in _rows(*ZOOS) if row["rank"] == 1)
    script = tmp_path / "model.jsonl"
    script.write_text(json.dumps({"answer": {"number": 2, "frame": "none"}}) + "\n")
    rows = _rows(*ZOOS, "-m", f"scripted:{script}")
    (chosen,) = [row for row in rows if row["chosen"]]
    assert chosen["id"] != best["id"]


def test_a_debater_that_lists_no_candidates_says_so(tmp_path: Path) -> None:
    script = tmp_path / "model.jsonl"
    script.write_text('{"answer": "No."}\n')
    refused = touche_rad(*ZOOS, "--explain", "-d", "sinai", "-m", f"scripted:{script}")
    assert refused.code == 2
    assert "debater sinai does not list its candidates" in refused.err


def test_an_explanation_of_another_debaters_answer_says_so(tmp_path: Path) -> None:
    plugin = tmp_path / "failing.py"
    plugin.write_text(
        "from touche_rad.plugins import debater\n"
        '@debater("failing")\n'
        "class Failing:\n"
        '    """Fails."""\n'
        "    def __init__(self, options, services): pass\n"
        '    def answer(self, debate): raise ValueError("no luck")\n'
    )
    call = ("--plugin", plugin, *ZOOS, "-d", "failing", "--explain")
    shown = touche_rad(*call)
    assert shown.code == 1
    assert "no luck" in shown.err
    assert "candidates of grounded" in shown.out
    strict = touche_rad(*call, "--strict")
    assert strict.code == 1
    assert strict.out == ""


def test_an_answer_that_cites_nothing_is_explained() -> None:
    shown = touche_rad("respond", "--say", "Pineapple does not belong on pizza.", "--explain")
    assert shown.code == 0
    assert "as none fits the message" in " ".join(shown.out.split())
    assert not any(line.startswith("> ") for line in shown.out.splitlines())


JUDGE = ("judge", demo_file("debates.jsonl"), "--explain")


def test_the_verdicts_of_a_turn_have_their_features_in_at_most_20_lines() -> None:
    for columns in (60, 100):
        shown = touche_rad(
            *JUDGE, "--debate", "debate-2", "--turn", "0", env={"COLUMNS": str(columns)}
        )
        assert shown.code == 0, shown.err
        lines = shown.out.splitlines()
        assert lines[0].startswith("debate-2 turn 0: ")
        assert 8 < len(lines) <= 20
        assert max(map(cell_len, lines)) <= columns
        assert "The judge cannot see the side of an argument." in " ".join(shown.out.split())
    assert all(name in shown.out for name in ("Quantity yes", "Manner   yes"))


def test_another_judge_shows_its_reasons() -> None:
    shown = touche_rad(*JUDGE, "--debate", "1", "--turn", "0", "-j", "length")
    assert shown.code == 0
    assert "words; 15 to 60 are a yes" in shown.out


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--debate", "debate-21"], "has no debate 'debate-21' (did you mean 'debate-2"),
        (["--turn", "9"], "expected a response in turn 9"),
        (["-o", "x.jsonl"], "--explain writes nothing"),
        (["-j", "debatrix"], "--explain is for judges of responses"),
    ],
)
def test_what_cannot_be_explained_is_refused(words: list[str], wrong: str) -> None:
    refused = touche_rad(*JUDGE, *words)
    assert refused.code == 2, refused.err
    assert wrong in refused.err, refused.err
    alone = touche_rad("judge", JUDGE[1], "-o", "out.jsonl", "--turn", "0")
    assert alone.code == 2
    assert "--turn is for --explain" in alone.err
