"""The local server: answers over HTTP, what it hides, and whom it refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from tests.cases import with_cases
from tests.labelling.makers import answer, open_session, write_run, write_verdicts
from tests.records import END_OF_RUN, read_json, read_records, write_records
from tests.screens import check_record
from touche_rad.debate import Maxim
from touche_rad.labelling.app import create_app
from touche_rad.labelling.session import LabelSession

HOST = "http://127.0.0.1:8000"
TOKEN = "secret"
BODY = {"debate": 0, "turn": 0, "maxim": "quality", "label": 1}


@pytest.fixture
def session() -> LabelSession:
    run = write_run()
    judge = write_verdicts("strict.jsonl", run, [0.4] * 12)
    status = {**END_OF_RUN, "output": judge.name, "identity": {"judge": "zsl"}}
    judge.with_name("strict.jsonl.status.json").write_text(json.dumps(status))
    return open_session(run, judge)


@pytest.fixture
def client(session: LabelSession) -> Iterator[TestClient]:
    with TestClient(create_app(session, TOKEN), base_url=HOST) as client:
        client.base_url = client.base_url.join(f"/{TOKEN}/")
        yield client


def post_label(client: TestClient, debate: int, turn: int) -> dict[str, object]:
    for maxim in Maxim:
        body = {"debate": debate, "turn": turn, "maxim": maxim, "label": 1}
        answer = client.post("answer", json=body)
        assert answer.status_code == 200
    return dict(answer.json())


def test_an_answer_is_on_the_disk_before_it_is_acknowledged(
    session: LabelSession, client: TestClient
) -> None:
    body = {"debate": 1, "turn": 2, "maxim": "quality", "label": 0}
    assert client.post("answer", json=body).json()["answers"] == {"quality": 0}
    last = read_records(session.log.path)[-1]
    assert last.items() >= body.items()


def test_verdicts_are_hidden_until_a_turn_is_labelled(client: TestClient) -> None:
    debate, turn = client.get("queue").json()["places"][0]
    place = {"debate": debate, "turn": turn}
    before = client.get("turn", params=place)
    assert before.json()["verdicts"] is None
    assert "because" not in before.text
    assert "strict" not in before.text
    after = post_label(client, debate, turn)
    assert after["verdicts"][0]["judge"] == "strict: zsl"  # type: ignore[index]


def test_annotators_see_the_first_two_arguments_only_with_marked_words() -> None:
    run = write_run(debates=1)
    record = read_json(run)
    texts = ["Ferries run late.", "Text 1.", "Text 2."]
    arguments = [{"id": text, "text": text, "attacks": "hidden"} for text in texts]
    turns = record["simulation"]["userTurns"]
    turns[0]["systemResponse"]["response"]["arguments"] = arguments
    write_records(run, record)
    app = create_app(open_session(run), TOKEN)
    client = TestClient(app, base_url=f"{HOST}/{TOKEN}/")
    shown = client.get("turn?debate=0&turn=0")
    parts = shown.json()["arguments"]
    assert ["".join(text for text, _ in marked) for marked in parts] == texts[:2]
    assert any(numbers == [1] and "Ferries" in text for text, numbers in parts[0])  # marked
    assert shown.json()["unshown"] == 1
    assert "hidden" not in shown.text
    assert "user turn 1" not in shown.text  # later turns


def test_undo_takes_back_the_last_answer(client: TestClient) -> None:
    post_label(client, *client.get("queue").json()["places"][0])
    assert client.post("undo", json={}).json()["undone"]["maxim"] == "manner"
    state = client.get("queue").json()
    assert (state["done"], state["first"]) == (0, 0)


def test_settling_shows_all_answers() -> None:
    run = write_run()
    for name, label in (("ana", 1), ("ben", 0)):
        answer(run, [(0, Maxim.QUALITY, label), (0, Maxim.MANNER, 1)], name)
    session = open_session(run, annotator="cem")
    client = TestClient(create_app(session, TOKEN), base_url=f"{HOST}/{TOKEN}/")
    queue = client.get("queue?settle=true").json()
    debate, turn = queue["places"][0]
    assert len(queue["places"]) == 1
    assert queue["unsettled"] == 1
    place = {"debate": debate, "turn": turn}
    assert "others" not in client.get("turn", params=place).json()  # an annotator does not see them
    check_record("label.settle", client.get("turn", params={**place, "settle": True}).json())
    body = {**BODY, **place, "settle": True}
    assert client.post("answer", json=body).json()["state"]["unsettled"] == 0


def test_without_the_token_everything_is_refused(session: LabelSession) -> None:
    client = TestClient(create_app(session, TOKEN), base_url=HOST)
    for path in ("/", "/queue", "/wrong/queue", "/docs", "/openapi.json"):
        assert client.get(path).status_code == 404
    assert client.post("/answer", json={}).status_code == 404


def test_other_host_names_and_other_pages_are_refused(
    session: LabelSession, client: TestClient
) -> None:
    rebound = client.post("answer", json=BODY, headers={"Host": "evil.example:8000"})
    assert rebound.status_code == 400
    foreign = client.post("answer", json=BODY, headers={"Origin": "http://127.0.0.1:9999"})
    assert foreign.status_code == 403
    simple = client.post("answer", content=json.dumps(BODY), headers={"Content-Type": "text/plain"})
    assert simple.status_code == 422
    assert session.study.annotators == []
    of_the_page = client.post("answer", json=BODY, headers={"Origin": HOST})
    assert of_the_page.status_code == 200


def test_the_page_has_a_strict_policy_and_only_its_own_files(client: TestClient) -> None:
    page = client.get("")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"
    assert client.get("assets/labelling/label.js").status_code == 200
    for name in ("labelling/app.py", "../pyproject.toml", "labelling/label.html.jinja"):
        assert client.get(f"assets/{name}").status_code == 404


@with_cases("body", "labelling/wrong_answers.json")
def test_wrong_answers_are_refused(
    session: LabelSession, client: TestClient, body: dict[str, object]
) -> None:
    assert client.post("answer", json=body).status_code == 422
    assert client.post("answer", json={**BODY, "debate": 99}).status_code == 404
    assert session.study.annotators == []


@pytest.mark.parametrize("body", ['{"debate": NaN}', '{"maxim": "\\ud800"}'])
def test_bodies_that_json_cannot_repeat_are_refused_in_one_line(
    client: TestClient, body: str
) -> None:
    refused = client.post("answer", content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 422
    assert '{"detail":"body' in refused.text


def test_an_answer_that_the_disk_refuses_is_reported_and_not_stored(
    session: LabelSession, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    before = session.log.path.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    refused = client.post("answer", json=BODY)
    monkeypatch.undo()
    assert refused.status_code == 507
    assert session.log.path.read_bytes() == before
    assert session.study.annotators == []


def test_a_turn_is_shown_with_what_was_said_before(client: TestClient) -> None:
    check_record("label.turn", client.get("turn?debate=2&turn=1").json())
    assert client.get("turn?debate=2&turn=3").status_code == 404


def test_the_queue_has_its_progress_and_its_open_turns(client: TestClient) -> None:
    places = client.get("queue").json()["places"]
    post_label(client, *places[0])
    debate, turn = places[2]
    body = {"debate": debate, "turn": turn, "maxim": "quality", "label": None}
    assert client.post("answer", json=body).json()["complete"] is False
    check_record("label.queue", client.get("queue").json())


def test_the_labels_file_is_written_when_the_server_ends(
    session: LabelSession, client: TestClient
) -> None:
    with client:
        post_label(client, 0, 0)
    first = read_records(session.output)[0]
    assert first[0]["manner"] == 1
