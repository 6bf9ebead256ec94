"""The page opens what a model was asked for each turn, and says what it cost."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.models import scripted
from tests.models.scripted import content
from tests.report.makers import islands
from tests.terminal import touche_rad
from touche_rad.demo import demo_file

DEBATES = demo_file("debates.jsonl")


def test_model_calls_are_shown_at_their_turn_and_costs_in_a_table(tmp_path: Path) -> None:
    out, page, five = (tmp_path / name for name in ("run.jsonl", "page.html", "five.jsonl"))
    five.write_text("".join(DEBATES.read_text().splitlines(keepends=True)[:5]))
    with scripted.serving() as server:
        server.always = content('{"number": 1, "frame": "not so"}')
        ended = touche_rad("respond", five, "-i", "demo", "-m", f"{server.url}#tiny", "-o", out)
        assert ended.code == 0, ended.err
    assert touche_rad("report", out, "-o", page).code == 0
    html = page.read_text()
    asked = calls(html)
    assert [one["step"] for one in asked] == ["grounded.choice_of_arguments"] * 15
    assert all(one["answer"] == '{"number": 1, "frame": "not so"}' for one in asked)
    assert "Model calls by step" in html
    cells = re.findall(r'<td class="num" data-label="([^"]+)">([^<]*)</td>', html)
    told = dict(cells)
    assert (told["step"], told["calls"], told["tokens in"], told["tokens out"]) == (
        "grounded.choice_of_arguments",
        "15",
        "150",
        "75",
    )


def test_a_trace_is_shown_as_text_and_its_broken_lines_are_passed_over(tmp_path: Path) -> None:
    run, page = tmp_path / "run.jsonl", tmp_path / "page.html"
    first = json.loads(DEBATES.read_text().splitlines()[0])
    run.write_text(json.dumps(first) + "\n")
    from touche_rad import files

    (debate,) = files.read_debates(run)
    evil = "<script>alert(1)</script>"
    rows = [
        "{broken",
        "[]",
        json.dumps({"debate": 3, "turn": "x", "asked": None, "answer": []}),
        json.dumps(
            {
                "debate": debate.key,
                "turn": 0,
                "step": evil,
                "seconds": 1,
                "fault": evil,
                "asked": {"messages": [{"role": "user", "content": evil}]},
                "answer": {"said": evil},
            }
        ),
    ]
    run.with_name("run.jsonl.trace.jsonl").write_text("\n".join(rows) + "\n")
    assert touche_rad("report", run, "-o", page).code == 0
    html = page.read_text()
    assert evil not in html
    (asked,) = calls(html)
    assert asked["step"] == asked["fault"] == asked["answer"] == asked["messages"][0][1] == evil


def calls(html: str) -> list[dict[str, Any]]:
    parts = (value for name, value in islands(html).items() if name.startswith("part-d"))
    return [
        call
        for part in parts
        for debate in part
        for turn in debate
        for _, of_run in turn.get("calls", ())
        for call in of_run
    ]
