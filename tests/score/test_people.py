"""Debaters ranked by people's labels on the debates of several runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.records import write_records
from tests.score.makers import run_file, verdicts
from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad.files.labels import digest

CLAIMS = 30
TURNS = 2
SHARES = {"team1": 0.8, "team2": 0.3}
CHANCE = np.random.default_rng(5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two teams on the same claims, judged; and labels of all debates, mixed."""
    labels = []
    for team, share in SHARES.items():
        debates = []
        judged = []
        for claim in range(CLAIMS):
            user_turns = []
            of_judge = []
            of_people = []
            for turn in range(TURNS):
                content = f"{team} answers {claim}.{turn}."
                utterance = f"Claim {claim}, turn {turn}."
                response = {"content": content, "arguments": []}
                user_turns.append(
                    {
                        "utterance": utterance,
                        "systemResponse": {"utterance": content, "response": response},
                    }
                )
                label = int(CHANCE.random() < share)
                says = label if CHANCE.random() < 0.9 else 1 - label
                of_judge.append(verdicts((says,) * 4))
                four = dict.fromkeys(("quantity", "quality", "relation", "manner"), label)
                of_people.append({**four, "words": digest(utterance, content)})
            simulation = {"userTurns": user_turns}
            debates.append({"simulation": simulation})
            judged.append({"simulation": simulation, "userTurnsEvaluations": of_judge})
            labels.append(of_people)
        run_file(tmp_path / f"{team}.jsonl", debates)
        run_file(tmp_path / f"{team}.judged.jsonl", judged)
    order = np.random.default_rng(1).permutation(len(labels))
    write_records(tmp_path / "labels.jsonl", *(labels[at] for at in order))
    return tmp_path


def shares_of(labels: Path, team: str, folder: Path) -> float:
    """Return the share of yes of a team, from its texts."""
    run = [json.loads(line) for line in (folder / f"{team}.jsonl").read_text().splitlines()]
    texts = set()
    for record in run:
        for turn in record["simulation"]["userTurns"]:
            texts.add(digest(turn["utterance"], turn["systemResponse"]["utterance"]))
    rows = [turn for line in labels.read_text().splitlines() for turn in json.loads(line)]
    return float(np.mean([row["quantity"] for row in rows if row["words"] in texts]))


def score(folder: Path, *words: str) -> dict[str, Any]:
    ended = touche_rad("score", *words, "--json", "--samples", "500", cwd=folder, code=0)
    report: dict[str, Any] = json.loads(ended.out)
    return report


def test_debaters_are_ranked_by_the_labels_on_their_turns(folder: Path) -> None:
    report = score(folder, "team2.jsonl", "team1.jsonl", "labels.jsonl")
    rows = {(row["run"], row["maxim"]): row for row in report["rows"]}
    for team in SHARES:
        share = shares_of(folder / "labels.jsonl", team, folder)
        assert rows[team, "quality"]["yes"] == rows[team, "mean"]["yes"] == pytest.approx(share)
        assert rows[team, "mean"]["low"] < share < rows[team, "mean"]["high"]
    assert report["ranking"] == [{"run": "team1", "rank": 1}, {"run": "team2", "rank": 2}]
    assert report["claims"] == CLAIMS
    difference = report["comparisons"][0]
    assert difference["p_holm"] < 0.05
    ended = touche_rad("score", "team1.jsonl", "team2.jsonl", "labels.jsonl", cwd=folder)
    check_screen("score.people", ended)


def test_labels_of_some_turns_are_corrected_by_a_judge(folder: Path) -> None:
    everything = folder / "all.jsonl"
    (folder / "labels.jsonl").rename(everything)
    lines = [json.loads(line) for line in everything.read_text().splitlines()]
    for turns in lines[::2]:
        for turn in turns:
            turn.update(dict.fromkeys(("quantity", "quality", "relation", "manner")))
    write_records(folder / "labels.jsonl", *lines)
    words = ("team1.judged.jsonl", "team2.judged.jsonl", "labels.jsonl")
    plain = score(folder, *words)
    report = score(folder, *words, "--correct")
    rows = {row["run"]: row for row in report["rows"] if row["maxim"] == "mean"}
    for row in plain["rows"]:
        if row["maxim"] == "mean":
            corrected = rows[row["run"]]
            team = row["run"].partition(".")[0]
            truth = shares_of(everything, team, folder)
            # The judge is nearly always right, so that it knows the turns without labels.
            assert abs(corrected["yes"] - truth) < 0.06
            assert corrected["high"] - corrected["low"] < row["high"] - row["low"]
    assert report["ranking"][0]["run"] == "team1.judged"
    assert any("labelled" in note for note in report["notes"])


def test_a_run_without_labels_is_named(folder: Path) -> None:
    lines = (folder / "labels.jsonl").read_text().splitlines()
    first = json.loads((folder / "team1.jsonl").read_text().splitlines()[0])
    other = json.dumps(first).replace("answers", "replies")
    (folder / "other.jsonl").write_text(f"{other}\n")
    ended = touche_rad("score", "other.jsonl", "team1.jsonl", "labels.jsonl", cwd=folder, code=1)
    assert "other.jsonl" in ended.err
    assert "no turn has a label on quantity" in ended.err
    without = [[{"quantity": 1}] * TURNS] * len(lines)
    write_records(folder / "labels.jsonl", *without)
    ended = touche_rad("score", "team1.jsonl", "labels.jsonl", cwd=folder, code=2)
    assert "--debates FILE" in ended.err
