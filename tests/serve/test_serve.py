"""The server as the official client calls it."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from tests.records import read_records
from tests.serve.served import app_of, app_of_the_demo, assert_valid_answer
from touche_rad.criteria import load_shipped
from touche_rad.debate import Debate, Maxim, Response, Verdict
from touche_rad.plugins import LoadedDebater, LoadedJudge
from touche_rad.runs.answering import Answerer
from touche_rad.serve import create_app
from touche_rad.serve.debate_page import Offer

JSON = {"content-type": "application/json"}
USER = "Zoos should be closed because captivity harms animals."


@dataclass
class Scripted:
    """A debater and a judge that do as told, and remember what they saw."""

    response: Any = None
    verdicts: Any = None
    seen: list[Debate] = field(default_factory=list)

    def answer(self, debate: Debate) -> Response:
        self.seen.append(debate)
        if isinstance(self.response, Exception):
            raise self.response
        return self.response or Response(content="No.")

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        self.seen.append(debate)
        if isinstance(self.verdicts, Exception):
            raise self.verdicts
        if self.verdicts is not None:
            return self.verdicts  # type: ignore[no-any-return]
        return {maxim: Verdict(score=0.25, rationale=maxim) for maxim in Maxim}


def _client(scripted: Scripted) -> TestClient:
    return TestClient(app_of(scripted))


@pytest.fixture(scope="module")
def demo() -> Iterator[TestClient]:
    with TestClient(app_of_the_demo()) as client:
        yield client


def _messages(*contents: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {
        "messages": [
            {"role": roles[number % 2], "content": content}
            for number, content in enumerate(contents)
        ]
    }


def _assert_refused(response: httpx2.Response, status: int, detail: str) -> None:
    assert response.status_code == status
    assert re.search(detail, response.json()["detail"])


def _question(turns: int = 2, **index: Any) -> dict[str, Any]:
    """What the official converter writes: nothing but what is needed."""
    user_turns = [
        {
            "utterance": f"user {number}",
            "systemResponse": {
                "utterance": f"system {number}",
                "response": {"arguments": [{"id": f"1.{number}", "text": f"text {number}"}]},
            },
        }
        for number in range(turns)
    ]
    return {"simulation": {"userTurns": user_turns}, **index}


def test_an_answer_cites_what_it_quotes(demo: TestClient) -> None:
    response = demo.post("/", json=_messages(USER))
    assert response.status_code == 200
    assert_valid_answer(response.json())
    assert response.json()["arguments"]
    assert {"id", "text", "topic", "tags", "attacks", "supports", "references", "original"} <= set(
        response.json()["arguments"][0]
    )


def test_the_whole_history_reaches_the_debater() -> None:
    scripted = Scripted()
    sent = {**_messages("U1", "S1", "U2"), "model": "m1", "temperature": 0}
    assert _client(scripted).post("/", json=sent).json() == {"content": "No.", "arguments": []}
    debate = scripted.seen[0]
    assert [turn.utterance for turn in debate.turns] == ["U1", "U2"]
    assert debate.system_texts == ("S1",)
    assert debate.last.response is None


def test_invalid_earlier_answers_in_a_request_are_accepted() -> None:
    scripted = Scripted()
    client = _client(scripted)
    odd = [None, 42, ["a", "b"], [{"type": "text", "text": "a b"}], {"a": 1}]
    sent = _messages(*chain.from_iterable(("U", answer) for answer in odd), "U")
    assert client.post("/", json=sent).status_code == 200
    assert scripted.seen[0].system_texts == ("", "42", "a b", "a b", '{"a": 1}')


def test_neighbours_of_one_role_are_one_utterance_and_system_messages_no_turn() -> None:
    scripted = Scripted()
    roles = ["system", "user", "user", "assistant", "user"]
    messages = [{"role": role, "content": str(number)} for number, role in enumerate(roles)]
    _client(scripted).post("/", json={"messages": messages})
    assert [turn.utterance for turn in scripted.seen[0].turns] == ["1 2", "4"]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "messages: Field required"),
        ({"messages": []}, "messages: "),
        ({"messages": [{"role": "judge", "content": "x"}]}, "messages.0.role: "),
        (_messages("U1", "S1"), "messages: expected the last message to be the user's"),
    ],
)
def test_an_invalid_request_names_the_field(body: dict[str, Any], detail: str) -> None:
    _assert_refused(_client(Scripted()).post("/", json=body), 422, f"^{detail}")


@pytest.mark.parametrize("path", ["/", "/quality"])
def test_a_key_occurs_once_in_a_body(path: str) -> None:
    body = json.dumps({**_messages("U1"), **_question(userTurnIndex=0)})
    twice = body.replace("{", '{"a": 1, "a": 1, ', 1)
    _assert_refused(_client(Scripted()).post(path, content=twice, headers=JSON), 422, "key")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        *dict.fromkeys(
            (b"\xff{}", b'{"messages": %s}' % (b"9" * 5000), b"[" * 10_000, b"\x1f\x8b"),
            "expected JSON in UTF-8",
        ).items(),
        (b'{"messages":\n [}', "expected JSON: Expecting value: line 2 column 3 "),
    ],
)
def test_an_unreadable_body_is_told_what_is_read(body: bytes, problem: str) -> None:
    response = _client(Scripted()).post("/", content=body, headers=JSON)
    _assert_refused(response, 400, f"^body: {problem}")


def test_a_body_with_two_lengths_is_refused() -> None:
    sent = {**JSON, "transfer-encoding": "chunked", "content-length": "2"}
    response = _client(Scripted()).post("/", content=b"{}", headers=sent)
    _assert_refused(response, 400, "not both")
    assert response.headers["connection"] == "close"


def test_a_request_without_the_json_header_is_told_which_header_to_send() -> None:
    response = _client(Scripted()).post("/", content=json.dumps(_messages("U1")))
    _assert_refused(response, 422, "`Content-Type: application/json`")
    sent = {"content-type": "application/json; charset=utf-8"}
    client = _client(Scripted())
    assert client.post("/", content=json.dumps(_messages("U1")), headers=sent).status_code == 200
    assert "header" not in client.post("/", content="[]", headers=sent).json()["detail"]


@pytest.mark.parametrize(("name", "calls"), [("grice", [0, 0, 1]), ("debate", [1, 2, 2])])
def test_only_what_the_criteria_are_for_is_evaluated(name: str, calls: list[int]) -> None:
    scripted = Scripted(verdicts={"winner": Verdict(answer="user")})
    criteria = load_shipped(name)
    offer = Offer({"it": AssertionError}, {"it": AssertionError}, criteria=criteria)
    client = TestClient(app_of(scripted, offer=offer))
    counts = []
    for index in ({}, {"userTurnIndex": None}, {"userTurnIndex": 0}):
        client.post(f"/{criteria.keys[0]}", json=_question(**index))
        counts.append(len(scripted.seen))
    assert counts == calls


def test_later_turns_do_not_reach_the_judge() -> None:
    scripted = Scripted()
    _client(scripted).post("/manner", json=_question(3, userTurnIndex=1))
    assert [turn.utterance for turn in scripted.seen[0].turns] == ["user 0", "user 1"]
    assert "2" not in scripted.seen[0].model_dump_json()


@pytest.mark.parametrize(
    ("index", "problem"),
    [(-1, "expected 0 to 1, got -1"), (2, "expected 0 to 1, got 2"), ("x", "userTurnIndex")],
)
def test_a_turn_that_is_not_there_is_refused(index: Any, problem: str) -> None:
    response = _client(Scripted()).post("/quality", json=_question(userTurnIndex=index))
    _assert_refused(response, 422, problem)


def test_an_unanswered_turn_is_refused() -> None:
    asked = {"simulation": {"userTurns": [{"utterance": "u"}]}, "userTurnIndex": 0}
    _assert_refused(_client(Scripted()).post("/quality", json=asked), 422, "systemResponse")


@pytest.mark.parametrize(
    "system", read_records(Path(__file__).with_name("odd_responses.jsonl")), ids=repr
)
def test_whatever_the_tasks_client_accepts_gets_a_number(demo: TestClient, system: Any) -> None:
    turns = [7, {"utterance": {"a": 1}, "systemResponse": system}]
    for maxim in Maxim:
        asked = {"simulation": {"userTurns": turns}, "userTurnIndex": 1}
        answered = demo.post(f"/{maxim}", json=asked)
        assert answered.status_code == 200, answered.text
        assert isinstance(answered.json()["score"], float | int)
        of_debate = demo.post(f"/{maxim}", json={"simulation": {"userTurns": turns}})
        assert of_debate.json()["score"] is None


def test_an_argument_that_is_only_an_id_is_read_as_its_id() -> None:
    scripted = Scripted()
    asked = _question(1, userTurnIndex=0)
    response = asked["simulation"]["userTurns"][0]["systemResponse"]["response"]
    response["arguments"] = ["1922.747", "Zoos save animals."]
    _client(scripted).post("/quality", json=asked)
    cited = scripted.seen[0].last.response
    assert cited is not None
    assert [(argument.id, argument.text) for argument in cited.arguments] == [
        ("1922.747", ""),
        ("", "Zoos save animals."),
    ]


def test_equal_questions_at_the_same_moment_are_one_computation() -> None:
    started = threading.Event()
    go_on = threading.Event()

    class Slow(Scripted):
        def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
            started.set()
            go_on.wait(10)
            return super().judge(debate)

    slow = Slow()
    app = app_of(slow)

    async def ask() -> list[httpx2.Response]:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            calls = [
                asyncio.create_task(client.post(f"/{maxim}", json=_question(userTurnIndex=0)))
                for maxim in Maxim
            ]
            await asyncio.to_thread(started.wait, 10)
            calls[0].cancel()  # the first to ask hangs up
            go_on.set()
            return await asyncio.gather(*calls[1:])

    assert all(response.json()["score"] == 0.25 for response in asyncio.run(ask()))
    assert len(slow.seen) == 1


def test_both_plugins_are_tried_before_the_port_opens() -> None:
    scripted = Scripted(response=RuntimeError("not yet"))
    with _client(scripted) as client:
        assert len(scripted.seen) == 2
        assert client.get("/health").status_code == 200


def test_the_server_says_what_it_is(demo: TestClient) -> None:
    health = demo.get("/health").json()
    assert health["status"] == "ok"
    assert health["arguments"] > 300
    page = demo.get("/docs")
    assert page.status_code == 200
    assert page.text.count("the body is too large") == 1
    assert page.text.count("curl -s http://testserver/") == 2
    assert (
        page.text.index("POST")
        < page.text.index('href="#ChatRequest')
        < page.text.index("/relation")
    )
    assert "touche-rad debate" in demo.get("/").text
    paths = set(demo.get("/openapi.json").json()["paths"])
    assert paths == {"/", "/health", *(f"/{maxim}" for maxim in Maxim)}


def test_health_and_the_log_at_the_end_count_answers_verdicts_and_fallbacks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    good = Scripted()
    scripted = Scripted(KeyError("nothing"), KeyError("no score"))
    app = create_app(
        Answerer([LoadedDebater(scripted, "scripted"), LoadedDebater(good, "good")]),
        LoadedJudge(scripted, "strict"),
    )
    counts = "answers", "fallbacks", "verdicts", "verdict_fallbacks", "last_fallback"
    with TestClient(app) as client:
        causes = [client.post("/", json=_messages(USER)).json()["fallback"]]
        causes.append(client.post("/quality", json=_question(userTurnIndex=0)).json()["fallback"])
        scripted.response = scripted.verdicts = None
        assert "fallback" not in client.post("/", json=_messages("U1", "S1", USER)).json()
        scored = client.post("/quality", json=_question(userTurnIndex=0)).json()
        assert scored == {"score": 0.25, "explanation": "quality"}
        health = client.get("/health").json()
        caplog.clear()
    assert causes[0].startswith("debater scripted failed: KeyError: 'nothing'")
    assert causes[1].startswith("judge strict failed: KeyError: 'no score'")
    assert [health[name] for name in counts] == [2, 1, 2, 1, causes[1]]
    (record,) = [record for record in caplog.records if record.name == "touche_rad"]
    assert record.levelname == "WARNING"
    counts = "answers 2 (fallbacks 1), verdicts by POST 2 (fallbacks 1)"
    assert record.message == f"ended: {counts} {causes[1]}"


def test_a_fallback_verdict_is_not_kept() -> None:
    judge = Scripted()
    client = _client(judge)
    scores = []
    for judge.verdicts in (ConnectionError("the model is down"), None, None):
        reply = client.post("/quality", json=_question(userTurnIndex=0))
        scores.append(reply.json()["score"])
    assert scores == [1.0, 0.25, 0.25]
    assert len(judge.seen) == 2
