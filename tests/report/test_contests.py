"""Whole debates on the page: verdicts, scores by dimension and by speech, and nothing unescaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from judges.debgraph.graph import Edge, Relation, SceneGraph, SpeechOrigin, as_json
from tests.cases import with_cases
from tests.demo import CONTESTS, DEBATES
from tests.records import read_records, write_records
from tests.report.makers import Page, check_page
from tests.terminal import touche_rad
from touche_rad.demo import demo_file

EVIL = "<script>alert(1)</script>"


def write_outcome(**change: Any) -> Path:
    """Write a panel's verdict on the first contest of the demo."""
    contest = read_records(CONTESTS)[0]
    timeline = []
    for number, speech in enumerate(contest["speeches"], 1):
        for name in ("argument", "clash"):
            place = {"speech": number, "speaker": speech["speaker"], "dimension": name}
            timeline.append({**place, "score": number, "comment": f"{name} {number}."})
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
    return write_records("o.jsonl", line)


def report_page(run: Path, *options: str | Path) -> Page:
    """Write a report of a run, and read it."""
    out = Path("report.html")
    touche_rad("report --replace", run, *options, "-o", out)
    return Page(out)


def debates_of(page: Page) -> list[dict[str, Any]]:
    """Return the data of all whole debates."""
    parts = [part for name, part in page.data.items() if name.startswith("part-w")]
    return [debate for part in parts for debate in part]


def verdict_of(page: Page) -> dict[str, Any]:
    (debate,) = debates_of(page)
    (verdict,) = debate["verdicts"]
    return dict(verdict)


def test_a_verdict_is_shown_with_scores_speeches_and_the_gold_winner() -> None:
    page = report_page(write_outcome(reason="PART"), "--labels", CONTESTS)
    check_page("panel", Path("report.html"))
    (debate,) = debates_of(page)
    verdict = verdict_of(page)
    gold = read_records(CONTESTS)[0]["gold"]["general"]
    rows = {name: cells for name, *cells in debate["winners"]["rows"]}
    assert rows["winner"] == [None, ["Mara", "num side pro"]]
    assert rows["sides swapped"] == [None, ["Teo", "num side con"]]
    assert rows["general"] == [[gold, "num side pro"], ["Mara 8.00 : 5.50", "num side pro"]]
    assert "general,o,Mara,8.0,5.5" in unquote(debate["winners"]["csv"])
    assert [speech[:2] for speech in debate["speeches"][:2]] == [["Mara", "pro"], ["Teo", "con"]]
    assert verdict["reason"] == "PART"
    assert verdict["comment"] == "WHY-MARA"
    scores = dict(verdict["timeline"]["rows"])
    assert scores["argument"][0] == [1, "argument 1."]
    assert scores["clash"][5] == [6, "clash 6."]


def test_an_entry_says_who_won_and_whether_the_panel_is_wrong() -> None:
    gold = read_records(CONTESTS)[0]
    for winner in gold["sides"]:
        page = report_page(write_outcome(winner=winner), "--labels", CONTESTS)
        (entry,) = page.data["data-wholes"]
        side = gold["sides"][winner]
        assert entry["tags"]["winner"] == [side]
        tags = entry["tags"]["only"]
        assert ("winner changes with the sides" in tags) == (winner == "Mara")
        assert ("differs from the human decision" in tags) == (winner != gold["gold"]["general"])


def test_verdicts_of_a_panel_with_and_without_an_index_are_told_apart() -> None:
    run = Path("with.jsonl")
    touche_rad("judge -j grice -i demo", CONTESTS, "-o", run, err="with an index")
    touche_rad("judge -j grice -o without.jsonl", CONTESTS)
    caution = "the runs were judged with different indexes (or none)"
    touche_rad("score", run, "without.jsonl", CONTESTS, err=caution)
    page = report_page(run, "without.jsonl", "--labels", CONTESTS)
    assert caution in page.words
    judges = [verdict["judge"] for verdict in debates_of(page)[0]["verdicts"]]
    assert judges == ["grice with an index", "grice without an index (-i)"]


def test_without_contests_the_verdict_alone_is_shown() -> None:
    page = report_page(write_outcome())
    assert verdict_of(page)["comment"] == "WHY-MARA"
    assert debates_of(page)[0]["speeches"] == []


def test_a_panel_on_debates_without_known_winners_has_the_wins_as_title() -> None:
    run, debates = Path("o.jsonl"), DEBATES
    touche_rad("judge", debates, "-j", "grice", "-o", run, "-q")
    (board,) = report_page(run, "--labels", debates).data["report"]["boards"]
    assert board["title"].startswith("o: system won ")
    assert "share of wins" in board["title"]


@pytest.mark.parametrize("name", ["contests.jsonl", "debates.jsonl"])
def test_outcomes_on_other_words_than_the_labels_are_refused(name: str) -> None:
    run, labels = Path("o.jsonl"), Path(name)
    touche_rad("judge -j grice -q", demo_file(name), "-o", run)
    labels.write_text(demo_file(name).read_text("utf-8").replace(" the ", " a "), "utf-8")
    touche_rad("report -o r.html", run, "--labels", labels, code=2, err=str(run))


@with_cases("change", "report/changes_of_outcomes.json")
def test_text_of_files_is_escaped(change: dict[str, Any]) -> None:
    labels = () if "winner" in change else ("--labels", CONTESTS)
    page = report_page(write_outcome(**change), *labels)
    assert EVIL not in page.html


def test_a_graph_and_lists_of_records_are_shown() -> None:
    graph = SceneGraph("The motion")
    graph.add(1, EVIL, SpeechOrigin("pro", 1))
    graph.add(2, EVIL, SpeechOrigin("con", 1))
    graph.relate(Edge(2, 1, Relation.REBUTTAL))
    verdict = verdict_of(report_page(write_outcome(details={"graph": as_json(graph)})))
    assert verdict["graph"] == as_json(graph)
    assert [table["caption"] for table in verdict["tables"]] == ["graph nodes", "graph edges"]


def test_details_of_any_shape_are_shown() -> None:
    rows = [{"a": None, "b": [1, "x"]}, {"a": {"inner": [{"c": 5}]}}, "no record"]
    outer, inner = verdict_of(report_page(write_outcome(details={"rows": rows, "edges": 3})))[
        "tables"
    ]
    assert outer["heads"] == ["a", "b"]
    assert outer["rows"][0] == ["–", "1, x"]
    assert (inner["heads"], inner["rows"]) == (["c"], [["5"]])


def test_a_speech_judged_in_pieces_has_the_mean_score_and_all_comments() -> None:
    scores = {"FIRST.": 4, "": None, "SECOND.": 9, "THIRD.": 8}
    speech = {"speech": 1, "speaker": "Mara", "dimension": "argument"}
    pieces = [{**speech, "score": score, "comment": comment} for comment, score in scores.items()]
    timeline = verdict_of(report_page(write_outcome(details={"timeline": pieces})))["timeline"]
    assert timeline["rows"] == [["argument", [[7, "FIRST. SECOND. THIRD."]]]]
