"""Whole debates on the page: verdicts, scores by dimension and by speech, and nothing unescaped."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest

from judges.debgraph.graph import Edge, Relation, SceneGraph, SpeechOrigin, as_json
from tests.report.makers import islands
from tests.terminal import touche_rad
from touche_rad.demo import demo_file

CONTESTS = demo_file("contests.jsonl")
EVIL = "<script>alert(1)</script>"


def speech(**change: Any) -> dict[str, Any]:
    """Return the score of a speech."""
    return {"speech": 1, "speaker": "Mara", "dimension": "argument", "score": 2, **change}


def outcomes(path: Path, **change: Any) -> Path:
    contest = json.loads(CONTESTS.read_text("utf-8").splitlines()[0])
    timeline = [
        speech(speech=n, speaker=one["speaker"], dimension=name, score=n, comment=f"{name} {n}.")
        for n, one in enumerate(contest["speeches"], 1)
        for name in ("argument", "clash")
    ]
    outcome = {
        "winner": "Mara",
        "winners": {"general": "Mara", "argument": "tie"},
        "scores": {"Mara": {"general": 8}, "Teo": {"general": 5.5}},
        "comment": "WHY-MARA",
        "details": {"timeline": timeline},
        **change,
    }
    swapped = {"winner": "Teo", "scores": {}}
    line = {"id": contest["id"], "judge": "debatrix", "outcome": outcome, "swapped": swapped}
    path.write_text(json.dumps(line) + "\n", "utf-8")
    return path


def page(tmp_path: Path, run: Path, *more: str | Path) -> str:
    out = tmp_path / "report.html"
    ended = touche_rad("report", run, *more, "-o", out, "--replace")
    assert ended.code == 0, ended.err
    html = out.read_text("utf-8")
    data = islands(html)
    parts = [value for name, value in data.items() if name.startswith("part-w")]
    drawn = "\n".join(one for part in parts for one in part)
    motions = "\n".join(one["motion"] for one in data["data-wholes"]["contests"])
    return (
        f"{re.sub('<script type=.*?</script>', '', html, flags=re.S)}\n{escape(motions)}\n{drawn}"
    )


def test_a_verdict_is_shown_with_scores_speeches_and_the_gold_winner(tmp_path: Path) -> None:
    told = page(tmp_path, outcomes(tmp_path / "o.jsonl", reason="PART"), "--labels", CONTESTS)
    for element in (
        "1 of 1 verdicts are in part; the first: PART",
        "; judged in part: PART",
        "City libraries should stay open until midnight",
        "argument 1.",
        "clash 6.",
        "5.50",
        "human decision",
        "with the sides swapped",
        "always tie",
        "page twelve",
        "Mean score by speech",
    ):
        assert element in told
    assert told.index("page twelve") < told.index("WHY-MARA"), "the debate comes first"


def test_without_contests_the_verdict_alone_is_shown(tmp_path: Path) -> None:
    told = page(tmp_path, outcomes(tmp_path / "o.jsonl"))
    assert "WHY-MARA" in told
    assert "page twelve" not in told


@pytest.mark.parametrize("name", ["contests.jsonl", "debates.jsonl"])
def test_outcomes_on_other_words_than_the_labels_are_refused(tmp_path: Path, name: str) -> None:
    run, labels = tmp_path / "o.jsonl", tmp_path / name
    assert touche_rad("judge", demo_file(name), "-j", "grice", "-o", run, "-q").code == 0
    labels.write_text(demo_file(name).read_text("utf-8").replace(" the ", " a "), "utf-8")
    ended = touche_rad("report", run, "--labels", labels, "-o", tmp_path / "r.html")
    assert (ended.code, "is on other words than the contest" in ended.err) == (2, True)


@pytest.mark.parametrize(
    "change",
    [
        {"comment": EVIL},
        {"winner": EVIL},
        {"scores": {EVIL: {EVIL: 3}}},
        {"winners": {EVIL: EVIL}},
        {"details": {"timeline": [speech(speaker=EVIL, dimension=EVIL, comment=EVIL)]}},
        {"details": {"timeline": [{"speech": EVIL}]}},
        {"details": {"timeline": 3}},
    ],
)
def test_text_of_files_is_escaped(tmp_path: Path, change: dict[str, Any]) -> None:
    truth = () if "winner" in change else ("--labels", CONTESTS)
    assert EVIL not in page(tmp_path, outcomes(tmp_path / "o.jsonl", **change), *truth)


def test_lists_of_records_in_the_details_are_tables(tmp_path: Path) -> None:
    graph = SceneGraph("The motion")
    graph.add(1, EVIL, SpeechOrigin("pro", 1))
    graph.add(2, EVIL, SpeechOrigin("con", 1))
    graph.relate(Edge(2, 1, Relation.REBUTTAL))
    told = page(tmp_path, outcomes(tmp_path / "o.jsonl", details={"graph": as_json(graph)}))
    assert EVIL not in told
    assert "graph nodes" in told
    assert "<td>rebuttal</td>" in told
    broken = {"nodes": [{"id": EVIL}], "edges": 3}
    assert EVIL not in page(tmp_path, outcomes(tmp_path / "o.jsonl", details={"graph": broken}))


def test_a_speech_judged_in_pieces_has_the_mean_score_and_all_comments(tmp_path: Path) -> None:
    scores = {"FIRST.": 4, "": None, "SECOND.": 9, "THIRD.": 8}
    pieces = [speech(score=score, comment=comment) for comment, score in scores.items()]
    text = page(tmp_path, outcomes(tmp_path / "o.jsonl", details={"timeline": pieces}))
    assert "<summary>7</summary>" in text
    assert "FIRST. SECOND. THIRD." in text
