"""The page opens what a model was asked for each turn, and says what it cost."""

from __future__ import annotations

import json
from pathlib import Path

from tests.models import scripted
from tests.models.scripted import content
from tests.terminal import touche_rad
from touche_rad.demo import demo_file

DEBATES = demo_file("debates.jsonl")


def test_model_calls_are_shown_at_their_turn_and_costs_in_a_table(tmp_path: Path) -> None:
    out, page = tmp_path / "run.jsonl", tmp_path / "page.html"
    with scripted.serving() as server:
        server.always = content('{"number": 1, "frame": "not so"}')
        ended = touche_rad("respond", DEBATES, "-i", "demo", "-m", f"{server.url}#tiny", "-o", out)
        assert ended.code == 0, ended.err
    assert touche_rad("report", out, "-o", page).code == 0
    html = page.read_text()
    assert html.count("grounded.choice <span") == 60
    assert html.count("1 call of a model") == 60
    assert "Model calls" in html
    assert "<td>grounded.choice</td><td>60</td><td>0</td><td>600</td><td>300</td>" in html
    assert "{&#34;number&#34;: 1, &#34;frame&#34;: &#34;not so&#34;}" in html


def test_a_page_without_a_trace_shows_no_calls(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert touche_rad("report", DEBATES, "-o", page).code == 0
    assert "of a model" not in page.read_text()
    assert "Model calls" not in page.read_text()


def test_a_trace_is_shown_as_text_and_its_broken_lines_are_passed_over(tmp_path: Path) -> None:
    run, page = tmp_path / "run.jsonl", tmp_path / "page.html"
    first = json.loads(DEBATES.read_text().splitlines()[0])
    run.write_text(json.dumps(first) + "\n")
    from touche_rad import files

    (debate,) = files.read_debates(run)
    evil = "<script>alert(1)</script>"
    rows = [
        "{broken", "[]", json.dumps({"debate": 3, "turn": "x", "asked": None, "answer": []}),
        json.dumps({"debate": debate.key, "turn": 0, "step": evil, "seconds": 1, "fault": evil,
                    "asked": {"messages": [{"role": "user", "content": evil}]},
                    "answer": {"said": evil}}),
    ]  # fmt: skip
    run.with_name("run.jsonl.trace.jsonl").write_text("\n".join(rows) + "\n")
    assert touche_rad("report", run, "-o", page).code == 0
    html = page.read_text()
    assert "1 call of a model" in html
    assert evil not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 4
