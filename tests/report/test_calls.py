"""The page opens what a model was asked for each turn, and says what it cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.demo import DEBATES
from tests.models import scripted
from tests.models.scripted import content
from tests.records import copy_lines
from tests.report.makers import Page
from tests.terminal import touche_rad
from touche_rad import files

STEP = "grounded.choice_of_arguments"
ANSWER = '{"number": 1}'


def calls_of(page: Page) -> list[dict[str, Any]]:
    """Return the model calls of all turns of a page."""
    calls: list[dict[str, Any]] = []
    for name, part in page.data.items():
        if not name.startswith("part-d"):
            continue
        for debate in part:
            for turn in debate:
                for _, calls_of_run in turn.get("calls", ()):
                    calls += calls_of_run
    return calls


def page_of(run: Path) -> Page:
    """Write the report of a run."""
    path = run.with_name("page.html")
    touche_rad("report", run, "-o", path)
    return Page(path)


def test_model_calls_are_shown_at_their_turn_and_costs_in_a_table() -> None:
    out = Path("run.jsonl")
    five = "five.jsonl"
    copy_lines(DEBATES, five, 5)
    with scripted.serving() as server:
        server.always = content(ANSWER)
        touche_rad("respond -i demo", five, "-m", f"{server.url}#tiny", "-o", out)
    page = page_of(out)
    calls = calls_of(page)
    assert [call["step"] for call in calls] == [STEP] * 15
    assert {call["answer"] for call in calls} == {ANSWER}
    table = page.data["report"]["cost"]
    costs = dict(zip(table["heads"], table["rows"][0], strict=True))
    assert costs["step"] == STEP
    assert costs["calls"] == 15
    assert costs["tokens in"] == 150
    assert costs["tokens out"] == 75


def write_trace(run: Path, *rows: str) -> str:
    """Write a run of one debate, and its trace; the debate's key takes the place of KEY."""
    copy_lines(DEBATES, run)
    (debate,) = files.read_debates(run)
    trace = "\n".join(rows).replace('"KEY"', json.dumps(debate.key))
    run.with_name(f"{run.name}.trace.jsonl").write_text(f"{trace}\n")
    return debate.key


def call_line(text: str) -> str:
    """Return a line of a trace, with a text wherever a model or a server decides."""
    messages = [{"role": "user", "content": text}]
    call = {"debate": "KEY", "turn": 0, "step": text, "seconds": 1, "fault": text}
    return json.dumps({**call, "asked": {"messages": messages}, "answer": {"said": text}})


def test_a_trace_is_shown_as_text_and_its_broken_lines_are_passed_over() -> None:
    run = Path("run.jsonl")
    evil = "<script>alert(1)</script>"
    other = json.dumps({"debate": 3, "turn": "x", "asked": None, "answer": []})
    no_number = '{"debate": "KEY", "turn": 0, "seconds": NaN}'
    write_trace(run, "{broken", "[]", "[" * 100_000, no_number, other, call_line(evil))
    page = page_of(run)
    assert evil not in page.html
    (call,) = calls_of(page)
    assert call["step"] == evil
    assert call["fault"] == evil
    assert call["answer"] == evil
    assert call["messages"] == [["user", evil]]


def test_a_long_prompt_is_cut() -> None:
    run = Path("run.jsonl")
    write_trace(run, call_line("x" * 6_010), call_line("y" * 6_000))
    long, short = calls_of(page_of(run))
    assert long["answer"].startswith("x" * 6_000)
    assert "10 letters" in long["answer"]
    assert short["answer"] == "y" * 6_000
