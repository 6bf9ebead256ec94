"""`simulate --user URL`: the organisers' user, played by a scripted endpoint."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.models import scripted
from tests.models.scripted import Answer, Handler, Scripted, fails, raw, says
from tests.runs.playing import OFTEN, Stage
from touche_rad.text import count_words
from touche_rad.users import _official as official


def answers_with(content: Any, **fields: Any) -> Answer:
    """What the endpoint answers, with what else the organisers' has in it."""
    message = {"role": "assistant", "content": content}
    return says({"model": "base-user", "created_at": "now", "message": message, **fields})


def counting(handler: Handler) -> None:
    """Say a new sentence each time."""
    answers_with(f"My point number {len(handler.server.asked)} stands.", retrieved=[{"id": "1"}])(
        handler
    )


@pytest.fixture
def server(server: Scripted) -> Scripted:
    server.always = counting
    return server


@pytest.fixture
def stage(tmp_path: Path, demo_index_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(official, "POLICY", replace(official.POLICY, first_wait=0.0))
    return Stage(tmp_path, demo_index_path)


def url(server: Scripted) -> str:
    return f"http://127.0.0.1:{server.server_port}/user-sim/api/chat"


def test_it_is_asked_with_the_claim_and_then_with_the_mirrored_conversation(
    server: Scripted, stage: Stage
) -> None:
    played = stage.play(url(server), turns=3)
    u1, u2, _ = played.utterances[0]
    s1, s2, _ = played.answers[0]
    assert played.utterances[0] == [f"My point number {n} stands." for n in (1, 2, 3)]
    roles = ("assistant", "user", "assistant", "user")
    messages = [
        {"role": role, "content": text} for role, text in zip(roles, (u1, s1, u2, s2), strict=True)
    ]
    assert server.asked == [
        {"model": "base-user", "options": {"claim": OFTEN}},
        {"model": "base-user", "messages": messages[:2]},
        {"model": "base-user", "messages": messages},
    ]
    assert server.headers[0]["Content-Type"] == "application/json"


def test_the_user_there_can_be_named(server: Scripted, stage: Stage) -> None:
    played = stage.play(url(server), "-O", "user.model=other")
    assert server.asked[0]["model"] == "other"
    assert played.simulations[0]["configuration"]["user"] == {
        "class": "OfficialUser",
        "url": url(server),
        "model": "other",
    }


def test_what_may_be_a_key_in_the_address_stands_in_no_file(server: Scripted, stage: Stage) -> None:
    played = stage.play(f"{url(server)}?key=SECRET")
    assert played.utterances == [["My point number 1 stands."]]
    assert "SECRET" not in played.run.read_text() + json.dumps(played.status)


def test_the_run_is_named_by_the_user_and_its_address(server: Scripted, stage: Stage) -> None:
    identity = stage.play(url(server), "-O", "user.max_words=40").status["identity"]
    assert identity["user"] == "official(max_words=40)"
    assert identity["user_url"] == url(server)


FAULTS = {
    "500": fails(500),
    "no JSON": raw(b"\xff\xfe nothing"),
    "an array": says([1, 2]),
    "no message": says({"detail": "Not Found"}),
    "content is null": answers_with(None),
    "empty": answers_with(""),
    "blank": answers_with(" \n\u200b "),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_tried_again_and_one_that_stays_gives_a_fallback(
    server: Scripted, stage: Stage, fault: Answer
) -> None:
    server.script = [
        fault,
        answers_with("Cars foul the air."),
        *[fault] * 4,
        answers_with("And they are loud."),
    ]
    played = stage.play(url(server), turns=3)
    first, second, third = played.utterances[0]
    assert first == "Cars foul the air."
    assert second
    assert third == "And they are loud."
    assert len(server.asked) == 7
    (note,) = played.user_fallbacks
    assert note.startswith("debate debate-1, turn 2: ")
    assert url(server) in note
    causes = [turn.get("fallback", "") for turn in played.simulations[0]["userTurns"]]
    assert [url(server) in cause for cause in causes] == [False, True, False]


def test_nobody_there_stops_the_run_before_it_begins(
    stage: Stage,
) -> None:
    line = stage.play("http://127.0.0.1:9/chat?key=secret", code=1).error
    assert "http://127.0.0.1:9/chat" in line
    assert "--user rules" in line
    assert "--wait" in line
    assert "secret" not in line
    assert not (stage.folder / "run.jsonl").exists()


def test_nobody_there_is_no_reason_to_stop_under_tira(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("outputDir", str(stage.folder))
    address = "http://127.0.0.1:9/chat"
    played = stage.play(address, "-O", "user.tries=2", err="user rules")
    assert f"Unreachable: {address}" in played.user_fallbacks[0]


def test_the_endpoint_of_a_user_is_waited_for(
    stage: Stage,
) -> None:
    ended = stage.play("http://127.0.0.1:9/chat", "--wait", "0.1", code=1)
    waiting, stopped = ended.err.splitlines()
    assert waiting.startswith("waiting")
    assert "user unreachable" in stopped


@pytest.mark.parametrize("slow", [scripted.silent, scripted.dripping])
def test_where_every_request_takes_too_long_the_rules_stand_in(
    server: Scripted, stage: Stage, slow: Answer
) -> None:
    server.always = slow
    played = stage.play(url(server), "-O", "user.timeout=0.2", "-O", "user.tries=2", code=1)
    assert f"Timeout: {url(server)}: " in played.user_fallbacks[0]
    assert "0.2 s" in played.user_fallbacks[0]


def test_too_many_words_are_cut_at_a_sentences_end_and_noted(
    server: Scripted, stage: Stage
) -> None:
    server.always = answers_with("These are five plain words. " * 60)
    played = stage.play(url(server))
    assert count_words(played.utterances[0][0]) == 100
    assert played.utterances[0][0].endswith("words.")
    (cut,) = played.status["events"]
    assert cut["examples"] == [
        {
            "kind": "user cut",
            "place": {"debate": "debate-1", "turn": 1},
            "detail": "300 words to 100",
        }
    ]
    assert played.user_fallbacks == []


@pytest.mark.parametrize(
    "address",
    ["http://", "https:///x", "http://me:secret@host/chat", "http://host:x/", "http://a b/\n"],
)
def test_an_address_that_is_none_is_told_in_one_line(stage: Stage, address: str) -> None:
    line = stage.play(address, code=2).error
    assert "http://HOST:PORT/PATH" in line
    assert "secret" not in line
