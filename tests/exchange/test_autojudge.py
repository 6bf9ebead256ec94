"""Reports, topics and workflows of TREC AutoJudge: written, read back, and run by its program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.records import read_records, write_lines
from tests.screens import check_record
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.demo import demo_file
from touche_rad.exchange.reports import view_of

DEBATES = demo_file("debates.jsonl")


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    labels = ("--labels", demo_file("labels.jsonl"))
    touche_rad(
        "export", "autojudge", DEBATES, "-o", tmp_path / "aj", "-j", "length", *labels, code=0
    )
    return tmp_path / "aj"


def test_a_report_has_the_answer_its_documents_and_its_conversation(place: Path) -> None:
    reports = read_records(place / "runs" / "debates.jsonl")
    topics = read_records(place / "topics.jsonl")
    assert len(reports) == len(topics) == 60
    assert [report["metadata"]["topic_id"] for report in reports] == [
        topic["request_id"] for topic in topics
    ]
    check_record("autojudge.report", reports[1])
    check_record("autojudge.topic", topics[1])


@pytest.mark.parametrize(
    "citations",
    [(["b", "a"], ["a"]), ({"a": 10.0, "b": 90.0}, {"a": 5.0}), ([1, 0, 7], [0])],
    ids=["by priority", "with confidences", "numbers of references"],
)
def test_reports_of_other_tracks_are_read_with_each_way_to_cite(citations: Any) -> None:
    report = {
        "metadata": {"team_id": "t", "run_id": "r", "narrative_id": 31},
        "references": ["a", "b"],
        "responses": [
            {"text": text, "citations": cited}
            for text, cited in zip(("One.", "Two."), citations, strict=True)
        ],
        "documents": {"a": {"id": "a", "text": "An a."}},
    }
    view = view_of(report, {"31": "A question?"})
    assert view.id == "31"
    assert view.claim == "A question?"
    assert view.last.utterance == "A question?"
    assert view.last.response is not None
    assert view.last.response.content == "One. Two."
    assert [(argument.id, argument.text) for argument in view.last.response.arguments] == [
        ("b", ""),
        ("a", "An a."),
    ]


def test_a_report_read_back_is_the_view_of_its_response(place: Path) -> None:
    reports = read_records(place / "runs" / "debates.jsonl")
    debate = next(iter(files.read_debates(DEBATES)))
    for turn, report in enumerate(reports[:3]):
        view = view_of(report, {})
        assert view.claim == debate.claim
        assert view.turns == debate.view(turn).turns


def test_labels_become_the_true_leaderboard(tmp_path: Path) -> None:
    """The first turn has not all labels, and so no mean; the second one has."""
    labels = tmp_path / "labels.jsonl"
    lines = demo_file("labels.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first[0]["quality"] = None
    write_lines(labels, [json.dumps(first), *lines[1:]])
    call = ("export", "autojudge", DEBATES, "-o", tmp_path / "aj", "--labels")
    touche_rad(*call, labels, code=0)
    rows = (tmp_path / "aj/truth.eval.txt").read_text().splitlines()
    check_record("autojudge.truth", [*rows[:9], *rows[-5:]])
    labels.write_text(lines[0] + "\n")
    refused = touche_rad(*call, labels, "--replace", code=2)
    assert str(labels) in refused.err
    twice = touche_rad(*call, labels, "--labels", labels, "--replace", code=2)
    assert "--labels" in twice.err


def test_runs_on_other_claims_or_with_one_name_are_refused(tmp_path: Path) -> None:
    reversed_run = tmp_path / "reversed.jsonl"
    write_lines(reversed_run, DEBATES.read_text().splitlines()[::-1])
    ended = touche_rad("export", "autojudge", DEBATES, reversed_run, "-o", tmp_path / "aj", code=2)
    assert f"{reversed_run}:1: " in ended.err
    twice = touche_rad("export", "autojudge", DEBATES, DEBATES, "-o", tmp_path / "aj", code=2)
    assert "name" in twice.err
    assert not (tmp_path / "aj").exists()


@pytest.mark.services
def test_autojudge_runs_our_judge_and_verifies_its_leaderboard_and_qrels(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopwords = tmp_path / "nltk" / "corpora" / "stopwords"  # autojudge-base loads it when imported
    stopwords.mkdir(parents=True)
    (stopwords / "english").write_text("the\na\n")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    words = [
        "--workflow",
        "workflow.yml",
        "--rag-responses",
        "runs",
        "--rag-topics",
        "topics.jsonl",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "autojudge_base.cli", "run", *words, "--out-dir", "out"],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in (place / "out/default.eval.txt").read_text().splitlines()]
    values = {(topic, measure): float(value) for _, topic, measure, value in lines}
    out = tmp_path / "ours.jsonl"
    touche_rad("judge", DEBATES, "-j", "length", "-o", out)
    for number, row in enumerate(read_records(out), 1):
        for turn, verdicts in enumerate(row["userTurnsEvaluations"], 1):
            for maxim in ("Quantity", "Quality", "Relation", "Manner"):
                assert values[f"{number}.{turn}", maxim.upper()] == verdicts[maxim]["score"]
    from autojudge_base import Leaderboard

    truth = Leaderboard.load(place / "truth.eval.txt", "ir_measures")
    assert {entry.topic_id for entry in truth.entries} == {topic for topic, _ in values}
    qrels = (place / "out/default.qrels.txt").read_text().splitlines()
    assert {line.split()[3] for line in qrels} == {"0", "1"}
