"""Reports, topics and workflows of TREC AutoJudge: written, read back, and run by its program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.demo import demo_file
from touche_rad.exchange.reports import view_of

DEBATES = demo_file("debates.jsonl")


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    labels = ("--labels", demo_file("labels.jsonl"))
    ended = touche_rad(
        "export", "autojudge", DEBATES, "-o", tmp_path / "aj", "-j", "length", *labels
    )
    assert ended.code == 0, ended.err
    return tmp_path / "aj"


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_report_has_the_answer_its_documents_and_its_conversation(place: Path) -> None:
    reports = read_jsonl(place / "runs" / "debates.jsonl")
    topics = read_jsonl(place / "topics.jsonl")
    assert len(reports) == len(topics) == 60
    assert [report["metadata"]["topic_id"] for report in reports] == [
        topic["request_id"] for topic in topics
    ]
    debate = next(iter(files.read_debates(DEBATES)))
    second = reports[1]
    assert [message["role"] for message in second["metadata"]["extra"]["conversation"]] == [
        "user",
        "assistant",
        "user",
    ]
    response = debate.turns[1].response
    assert response is not None
    assert " ".join(sentence["text"] for sentence in second["answer"]) == response.content
    assert second["answer"][0]["citations"] == [argument.id for argument in response.arguments]
    assert set(second["documents"]) == set(second["references"])


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
    reports = read_jsonl(place / "runs" / "debates.jsonl")
    debate = next(iter(files.read_debates(DEBATES)))
    for turn, report in enumerate(reports[:3]):
        view = view_of(report, {})
        expected = debate.view(turn)
        assert view.claim == debate.claim
        assert [said.utterance for said in view.turns] == [
            said.utterance for said in expected.turns
        ]
        responses = [said.response for said in view.turns]
        assert [response and response.content for response in responses] == [
            said.response and said.response.content for said in expected.turns
        ]
        for response, said in zip(responses, expected.turns, strict=True):
            assert response is not None
            assert said.response is not None
            cited = [(argument.id, argument.text) for argument in said.response.arguments]
            assert [(argument.id, argument.text) for argument in response.arguments] == cited


def test_a_turn_without_all_labels_has_no_mean(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    lines = demo_file("labels.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first[0]["quality"] = None
    labels.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    call = ("export", "autojudge", DEBATES, "--labels", labels, "-o", tmp_path / "aj")
    assert touche_rad(*call).code == 0
    lines = (tmp_path / "aj/truth.eval.txt").read_text().splitlines()
    measures = [line.split("\t")[2] for line in lines if line.split("\t")[1] == "1.1"]
    assert measures == ["QUANTITY", "RELATION", "MANNER"]


def test_labels_become_the_true_leaderboard(tmp_path: Path) -> None:
    labels = demo_file("labels.jsonl")
    runs = ("export", "autojudge", DEBATES, "--labels", labels, "-o", tmp_path / "aj")
    assert touche_rad(*runs).code == 0
    lines = [line.split("\t") for line in (tmp_path / "aj/truth.eval.txt").open()]
    assert {run for run, *_ in lines} == {"debates"}
    values = {(topic, measure): float(value) for _, topic, measure, value in lines}
    of_debates = list(files.read_labels(labels))
    first = [float(label or 0) for label in of_debates[0][1].values()]
    maxims = ("QUANTITY", "QUALITY", "RELATION", "MANNER")
    assert [values["1.2", measure] for measure in maxims] == first
    assert values["1.2", "GRICE"] == sum(first) / 4
    yes = [turn[Maxim.MANNER] or 0 for of_debate in of_debates for turn in of_debate]
    assert values["all", "MANNER"] == pytest.approx(sum(yes) / len(yes))
    short = tmp_path / "short.jsonl"
    short.write_text(labels.read_text().splitlines()[0] + "\n")
    refused = touche_rad("export", "autojudge", DEBATES, "--labels", short, "-o", tmp_path / "few")
    assert refused.code == 2
    assert str(short) in refused.err
    twice = touche_rad(*runs, "--labels", labels, "--labels", labels, "--replace")
    assert twice.code == 2
    assert "--labels" in twice.err


def test_runs_on_other_claims_or_with_one_name_are_refused(tmp_path: Path) -> None:
    reversed_run = tmp_path / "reversed.jsonl"
    reversed_run.write_text("\n".join(DEBATES.read_text().splitlines()[::-1]) + "\n")
    ended = touche_rad("export", "autojudge", DEBATES, reversed_run, "-o", tmp_path / "aj")
    assert ended.code == 2
    assert f"{reversed_run}:1: " in ended.err
    twice = touche_rad("export", "autojudge", DEBATES, DEBATES, "-o", tmp_path / "aj")
    assert twice.code == 2
    assert "the same name" in twice.err
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
    for number, row in enumerate(read_jsonl(out), 1):
        for turn, verdicts in enumerate(row["userTurnsEvaluations"], 1):
            for maxim in ("Quantity", "Quality", "Relation", "Manner"):
                assert values[f"{number}.{turn}", maxim.upper()] == verdicts[maxim]["score"]
    from autojudge_base import Leaderboard

    truth = Leaderboard.load(place / "truth.eval.txt", "ir_measures")
    assert {entry.topic_id for entry in truth.entries} == {topic for topic, _ in values}
    qrels = (place / "out/default.qrels.txt").read_text().splitlines()
    assert {line.split()[3] for line in qrels} == {"0", "1"}
