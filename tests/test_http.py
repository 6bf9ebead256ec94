"""`touche_rad.http` against a real server: what is sent again, what is refused, and when it ends."""

from __future__ import annotations

import gzip
import json
import math
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tests.models import scripted
from tests.models.scripted import Handler, Scripted, fails, says
from touche_rad import http
from touche_rad.http import Request, RequestError, RequestPolicy

KEY = "sk-a-key-that-nobody-may-see"
FAST = RequestPolicy(first_wait=0.01, longest_wait=0.02)
THREE_TRIES = RequestPolicy(tries=3, first_wait=0.01, longest_wait=0.02)


def send(request: Request, policy: RequestPolicy, *options: Any) -> Any:
    async def send_with_client() -> Any:
        async with http.open_client() as client:
            return await http.send(client, request, policy, *options)

    return anyio.run(send_with_client)


def post(server: Scripted, **fields: Any) -> Request:
    return Request(server.url, "POST", f"{server.url}/x", {"text": "Hello."}, **fields)


def compressed(data: bytes) -> scripted.Answer:
    """Answer with bytes in gzip, which was not asked for."""

    def act(handler: Handler) -> None:
        handler.say(200, gzip.compress(data), Content_Encoding="gzip")

    return act


def test_the_json_of_a_reply_is_returned(server: Scripted) -> None:
    server.script = [says({"words": "fine"}), compressed(b'{"words": "small"}')]
    assert send(post(server), FAST) == {"words": "fine"}
    assert send(post(server), FAST) == {"words": "small"}
    assert server.asked == [{"text": "Hello."}] * 2
    assert server.headers[0]["Content-Type"] == "application/json"


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 524])
def test_a_temporary_status_is_tried_again(server: Scripted, status: int) -> None:
    server.script = [fails(status), fails(status), says(1)]
    assert send(post(server), THREE_TRIES) == 1
    server.always = fails(status, "later")
    with pytest.raises(http.Busy) as caught:
        send(post(server), THREE_TRIES)
    assert len(server.asked) == 6
    error = caught.value
    assert str(error) == f"{server.url}: {status}: later"
    assert error.status == status
    assert error.retryable
    assert error.is_down == (status >= 500)


@pytest.mark.parametrize("status", [301, 400, 401, 404, 422, 501])
def test_a_status_that_stays_is_not_tried_again(server: Scripted, status: int) -> None:
    server.always = fails(status, b"<html>")
    with pytest.raises(http.Refused) as caught:
        send(post(server), THREE_TRIES)
    assert len(server.asked) == 1
    assert str(caught.value) == f"{server.url}: {status}"
    assert not caught.value.retryable
    assert not caught.value.is_down


@pytest.mark.parametrize(("wanted", "least"), [("0.6", 0.6), ("3000", 0)])
def test_the_wait_is_as_long_as_the_server_wants_up_to_a_limit(
    server: Scripted, wanted: str, least: float
) -> None:
    server.script = [fails(429, Retry_After=wanted), says(1)]
    policy = RequestPolicy(tries=2, first_wait=0.01, longest_retry_after=1)
    begun = time.monotonic()
    assert send(post(server), policy) == 1
    assert least <= time.monotonic() - begun < 30


def test_no_try_begins_after_the_deadline(server: Scripted) -> None:
    server.always = fails(429, Retry_After="30")
    begun = time.monotonic()
    with pytest.raises(http.Busy) as caught:
        send(post(server), THREE_TRIES, begun + 5)
    assert time.monotonic() - begun < 5
    assert len(server.asked) == 1
    assert caught.value.retry_after == 30


def test_the_waits_grow_up_to_the_longest_and_are_spread() -> None:
    error = http.Busy("server: 503", status=503)
    policy = RequestPolicy(tries=9, first_wait=1, longest_wait=4)
    for tries, middle in ((1, 1), (2, 2), (3, 4), (8, 4)):
        waits = [policy.pause(tries, error, math.inf) for _ in range(20)]
        assert all(wait and middle / 2 <= wait <= middle * 1.5 for wait in waits)
        assert len(set(waits)) > 1
    assert policy.pause(9, error, math.inf) is None


def test_nobody_there() -> None:
    request = Request("http://127.0.0.1:9", "GET", "http://127.0.0.1:9/x")
    with pytest.raises(http.NoConnection, match="refused") as caught:
        send(request, THREE_TRIES)
    assert caught.value.retryable
    assert caught.value.is_down
    assert caught.value.status is None


@pytest.mark.parametrize("fault", [scripted.reset, scripted.broken_off])
def test_a_broken_connection_is_made_again(server: Scripted, fault: Any) -> None:
    server.script = [fault, says(1)]
    assert send(post(server), THREE_TRIES) == 1


@pytest.mark.parametrize("fault", [scripted.silent, scripted.dripping])
def test_a_slow_reply_ends_at_the_time_limit(server: Scripted, fault: Any) -> None:
    server.always = fault
    begun = time.monotonic()
    with pytest.raises(http.NoReplyInTime, match=r"0\.3 s") as caught:
        send(post(server), RequestPolicy(seconds=0.3))
    assert caught.value.retryable
    with pytest.raises(http.NoReplyInTime):
        send(post(server), RequestPolicy(tries=9), time.monotonic() + 0.3)
    assert time.monotonic() - begun < 15, "the server is silent for 30 s"
    assert len(server.asked) == 2


@pytest.mark.parametrize("answer", [scripted.raw, compressed])
def test_a_reply_that_is_too_large_is_refused(
    server: Scripted, answer: Callable[[bytes], scripted.Answer]
) -> None:
    small = RequestPolicy(largest=100_000)
    server.always = answer(json.dumps("x" * 99_000).encode())
    assert len(send(post(server), small)) == 99_000
    server.always = answer(json.dumps("x" * 101_000).encode())
    with pytest.raises(http.BadReply, match="100000"):
        send(post(server), small)


@pytest.mark.parametrize("data", [b"", b"<html>", b'{"half": ', b"\xff\xfe x", b"[" * 100_000])
def test_a_reply_that_is_not_json_is_tried_again(server: Scripted, data: bytes) -> None:
    server.script = [scripted.raw(data), says(1)]
    assert send(post(server), THREE_TRIES) == 1
    server.always = scripted.raw(data)
    with pytest.raises(http.BadReply, match="expected JSON") as caught:
        send(post(server), FAST)
    assert "\n" not in str(caught.value)


def test_a_reply_that_its_reader_refuses_is_tried_again(server: Scripted) -> None:
    def read_words(value: Any) -> str:
        if not value["words"]:
            raise http.BadReply("no words")
        return str(value["words"])

    server.script = [says({"words": ""}), says({"words": "fine"})]
    assert send(post(server), THREE_TRIES, math.inf, read_words) == "fine"
    server.always = says({"words": ""})
    with pytest.raises(http.BadReply, match="no words"):
        send(post(server), THREE_TRIES, math.inf, read_words)
    assert len(server.asked) == 5


def test_a_redirect_takes_the_key_to_no_other_server(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with scripted.serving() as second_server:
        for status in (301, 302, 303, 307, 308):
            server.always = fails(status, Location=f"{second_server.url}/x")
            with pytest.raises(http.Refused, match=str(status)):
                send(post(server, with_key=True), THREE_TRIES)
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
        assert second_server.asked == []


def test_only_who_may_have_the_key_gets_it(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(post(server, with_key=True), FAST)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    send(post(server), FAST)
    assert all("Authorization" not in headers for headers in server.headers)


def test_no_message_contains_the_key(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for answer in (
        fails(400, f"the key {KEY} is wrong"),
        scripted.raw(f"the key {KEY}".encode()),
    ):
        server.always = answer
        with pytest.raises(RequestError) as caught:
            send(post(server, with_key=True), FAST)
        assert KEY not in f"{caught.value} {caught.value.what} {caught.value.reason}"
        assert "***" in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY[:9]}\n{KEY[9:]}")
    with pytest.raises(http.NoConnection, match="character") as caught:
        send(post(server, with_key=True), FAST)
    assert KEY[:9] not in str(caught.value)
    assert len(server.asked) == 2


def test_a_request_that_waits_is_cancelled_at_once(server: Scripted) -> None:
    server.always = fails(503, Retry_After="30")

    async def give_up() -> None:
        async with http.open_client() as client:
            with anyio.move_on_after(0.3):
                await http.send(client, post(server), THREE_TRIES)

    begun = time.monotonic()
    anyio.run(give_up)
    assert time.monotonic() - begun < 10


def test_connections_are_used_again(server: Scripted) -> None:
    ports: set[int] = set()

    def answer(handler: Handler) -> None:
        ports.add(handler.client_address[1])
        says(1)(handler)

    server.always = answer

    async def send_five() -> None:
        async with http.open_client() as client:
            for _ in range(5):
                await http.send(client, post(server), FAST)

    anyio.run(send_five)
    assert len(ports) == 1
