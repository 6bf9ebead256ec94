"""Labels on criteria of any kind: the page's data, several runs, agreement, and the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tests.labelling.makers import open_session, write_run
from tests.records import read_records
from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad.files.criteria import read_criteria
from touche_rad.labelling.agreement import agreement
from touche_rad.labelling.app import create_app
from touche_rad.labelling.session import LabelSession
from touche_rad.score import confusion

MINE = (Path(__file__).parents[1] / "mine.toml").read_text("utf-8")


def open_runs(annotator: str = "ana") -> LabelSession:
    """Two runs of the same claims with other responses, and the questions of a file."""
    runs = [write_run("team1.jsonl", 8), Path("team2.jsonl")]
    runs[1].write_text(runs[0].read_text().replace("run late", "are slow").replace('"d', '"x'))
    Path("mine.toml").write_text(MINE)
    criteria = read_criteria("mine.toml")
    return open_session(runs, annotator=annotator, criteria=criteria)


def test_a_page_has_the_answers_and_hides_the_run() -> None:
    session = open_runs()
    with TestClient(create_app(session, "t"), base_url="http://127.0.0.1/t/") as client:
        page = client.get("")
        debate, turn = client.get("queue").json()["places"][0]
        shown = client.get("turn", params={"debate": debate, "turn": turn})
        for text in (page.text, shown.text):
            assert "team" not in text
        assert shown.json()["id"] == ""
        for text in ("weak", "causal", "How strong"):
            assert text in page.text
        body = {"debate": debate, "turn": turn, "maxim": "strong"}
        assert client.post("answer", json={**body, "label": 3}).status_code == 422
        answered = client.post("answer", json={**body, "label": 2}).json()
        assert answered["answers"] == {"strong": 2}
    row = read_records(session.output)[debate][turn]
    assert row["strong"] == row["annotators"]["ana"]["strong"] == 3
    assert row["criteria"] == session.criteria.label_tags[0]
    assert row["clear"] is row["kind_of"] is None
    assert row["words"]


def label_all(session: LabelSession, answers: dict[str, list[int]]) -> None:
    """Answer each turn of the queue, in its order."""
    for at, place in enumerate(session.queue):
        for key, labels in answers.items():
            session.answer(place, key, labels[at])
    session.write()
    session.log.close()


def test_two_people_agree_by_the_kind_of_the_answers() -> None:
    chance = np.random.default_rng(3)
    turns = 48
    first = {key: chance.integers(0, 3, turns).tolist() for key in ("strong", "kind_of")}
    second = {}
    for key, labels in first.items():
        others = chance.integers(0, 3, turns).tolist()
        second[key] = [
            b if at % 3 == 0 else a for at, (a, b) in enumerate(zip(labels, others, strict=True))
        ]
    # Nearly all are yes: 46 both, 1 each alone. Chance is high for kappa, and low for AC1.
    first["clear"] = [1] * 47 + [0]
    second["clear"] = [1] * 46 + [0, 1]
    label_all(open_runs(), first)
    label_all(open_runs("ben"), second)
    session = open_runs()
    session.log.close()
    rows = {row.maxim: row for row in agreement(session.study).pairs}
    clear = rows["clear"]
    assert clear.kappa.value == pytest.approx(-1 / 47)
    # p = 94 of 96 answers are yes: chance 2 p (1 - p)
    by_chance = 2 * (94 / 96) * (2 / 96)
    assert clear.ac2.value == pytest.approx((46 / 48 - by_chance) / (1 - by_chance))
    assert {row.turns for row in rows.values()} == {turns}
    words = ("team1.jsonl", "team2.jsonl", "--criteria", "mine.toml", "-o", "labels.jsonl")
    ended = touche_rad("label --summary", *words)
    check_screen("label.criteria", ended)


def test_gwets_ac2_of_a_scale() -> None:
    """Weights 1, 3/4 and 0 of the squares: T = 6; shares of the answers 3/8, 2/8 and 3/8."""
    table = np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 1]])
    apart = np.subtract.outer(np.arange(3.0), np.arange(3.0)) ** 2
    chance = 0.65625  # 3/8 * 5/8 + 3/8 * 5/8 + 2/8 * 6/8, times T/6
    observed = (3 + 0.75) / 4
    assert confusion.ac2(table, apart) == pytest.approx((observed - chance) / (1 - chance))


def test_labels_of_other_questions_are_not_continued() -> None:
    label_all(open_runs(), {"clear": [1] * 48})
    Path("mine.toml").write_text(MINE.replace("How strong", "Really, how strong"))
    words = ("label", "team1.jsonl", "team2.jsonl", "--criteria", "mine.toml", "--summary", "-o")
    touche_rad(*words, "labels.jsonl", code=2, err="undo the change")
