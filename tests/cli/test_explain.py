"""`respond --explain`: the answer and its candidates; and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.demo import ARGUMENTS, DEBATES
from tests.records import read_records, write_records
from tests.screens import check_screen
from tests.terminal import touche_rad

ZOOS = ("respond", "--say", "Zoos should be closed.")


def explain_as_json(*args: str | Path) -> list[dict[str, Any]]:
    shown = touche_rad(*args, "--explain", "--json")
    return [json.loads(line) for line in shown.out.splitlines()]


def test_json_has_every_candidate_with_every_feature() -> None:
    rows = explain_as_json(*ZOOS)
    assert len(rows) > 5
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(row["features"] for row in rows)
    (chosen,) = [row for row in rows if row["chosen"]]
    answered = touche_rad(*ZOOS, "--json").json
    assert chosen["id"] == answered["arguments"][0]["id"]
    assert not chosen["fault"]


def test_an_equal_text_under_another_id_is_not_marked() -> None:
    argument = {"id": "a", "text": "Zoos stay.", "topic": ""}
    write_records("twice.jsonl", argument, argument | {"id": "b"})
    touche_rad("index twice.jsonl -o twice")
    assert [row["chosen"] for row in explain_as_json(*ZOOS, "-i", "twice")] == [True, False]


def demo_arguments(ids: list[str]) -> list[dict[str, Any]]:
    rows = read_records(ARGUMENTS)
    shown = [row for row in rows if row["id"] in ids]
    assert len(shown) == len(ids) == 5
    return shown


@pytest.mark.parametrize(
    ("columns", "debater"), [(50, "verbatim"), (80, "grounded"), (120, "verbatim")]
)
def test_an_explanation_begins_with_the_answer_and_has_whole_texts_that_fit(
    columns: int, debater: str
) -> None:
    shown = touche_rad(*ZOOS, "--explain", "-d", debater, env={"COLUMNS": str(columns)})
    lines = shown.out.splitlines()
    assert max(map(cell_len, lines)) <= columns
    assert sum(line.startswith("> ") for line in lines) == 1
    words = " ".join(shown.out.split())
    answer = touche_rad(*ZOOS, "-d", debater, "--json").json
    assert words.startswith(answer["content"])
    more = len(explain_as_json(*ZOOS, "-d", debater)) - 5
    assert f"{more} more candidates (--json lists all)" in lines[-1]
    for argument in demo_arguments(re.findall(r"^[> ] +\d+\. (\S+)", shown.out, re.MULTILINE)):
        assert " ".join(argument["text"].split()) in words


@pytest.mark.parametrize("text", ["Zoos should be closed.", "Pineapple does not belong on pizza."])
def test_the_summary_says_what_the_answer_cites_and_why(text: str) -> None:
    check_screen(
        f"respond.explain.{text.split()[0].lower()}",
        touche_rad("respond -i demo --explain --say", text),
    )


def test_each_turn_of_a_file_is_explained() -> None:
    source = Path("debates.jsonl")
    first = DEBATES.read_text("utf-8").splitlines()[0]
    source.write_text(first + "\n")
    shown = touche_rad("respond -i demo --explain", source, env={"COLUMNS": "60"})
    assert shown.out.count(" turn ") == 3, shown.err
    assert {row["turn"] for row in explain_as_json("respond", source, "-i", "demo")} == {1, 2, 3}


def test_a_model_may_choose_another_candidate_than_the_best() -> None:
    best = next(row for row in explain_as_json(*ZOOS) if row["rank"] == 1)
    script = "model.jsonl"
    write_records(script, {"answer": {"number": 2}})
    rows = explain_as_json(*ZOOS, "-m", f"scripted:{script}")
    (chosen,) = [row for row in rows if row["chosen"]]
    assert chosen["id"] != best["id"]
    shown = touche_rad(*ZOOS, "-m", f"scripted:{script}", "--explain").out
    assert "the model's choice, which is number 2" in " ".join(shown.split())


def test_a_debater_that_lists_no_candidates_says_so() -> None:
    script = Path("model.jsonl")
    script.write_text('{"answer": "No."}\n')
    shown = touche_rad(*ZOOS, "--explain", "-d", "sinai", "-m", f"scripted:{script}", code=None).out
    assert shown.endswith("\n\nsinai lists no candidates.\n")


def test_an_explanation_of_another_debaters_answer_says_so() -> None:
    plugin = Path("failing.py")
    plugin.write_text(
        "from touche_rad.plugins import debater\n"
        '@debater("failing")\n'
        "class Failing:\n"
        '    """Fails."""\n'
        "    def __init__(self, options, services): pass\n"
        '    def answer(self, debate): raise ValueError("no luck")\n'
    )
    call = ("--plugin", plugin, *ZOOS, "-d", "failing", "--explain")
    touche_rad(*call, code=1, err="no luck", out="grounded")
    strict = touche_rad(*call, "--strict", code=1)
    assert strict.out == ""


def test_a_file_or_a_text_is_needed() -> None:
    touche_rad("respond --explain -i demo", code=2, err="respond --explain")
