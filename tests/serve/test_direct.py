"""Plain requests to POST / do not pass through FastAPI; nobody can tell the difference.

A request that begins with a piece of one byte never takes the direct way, so that the same bytes
can be sent on both ways.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.server import ServerState

from touche_rad.debate import Argument, Debate, Maxim, Response, Verdict
from touche_rad.runs.answering import Answer, Answerer
from touche_rad.serve import create_app
from touche_rad.serve.direct import DirectProtocol
from touche_rad.serve.limits import Access, Limits

TOKEN = "0123456789abcdef"


class Echo(Answerer):
    """Answers with the message, without a thread, and counts; the judge says yes."""

    def __init__(self) -> None:
        super().__init__([])
        self.answered = 0
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def answer(self, debate: Debate, sided: Debate | None = None) -> Answer:
        await self.go_on.wait()
        self.answered += 1
        if "fail" in debate.last.utterance:
            raise RuntimeError
        cited = Argument(id="ä-1", text="Cited.", score=float(len(debate.turns)), key=1)
        said = f"You say: {debate.last.utterance}"
        return Answer(Response(content=said, arguments=(cited,), extra={"note": "x"}), "echo")

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        return {maxim: Verdict(score=1.0) for maxim in Maxim}


class Wire(asyncio.Transport):
    """The other end of a connection: keeps what the server writes."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.is_paused, self.is_over = b"", False, False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 5000), "sockname": ("127.0.0.1", 80)}.get(name, default)

    def write(self, data: Any) -> None:
        if not self.is_over:
            self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.is_over

    def close(self) -> None:
        self.is_over = True

    abort = close

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


class Line:
    """A connection to an app."""

    def __init__(self, app: FastAPI) -> None:
        config = uvicorn.Config(
            app,
            http=partial(DirectProtocol, app.state.direct_way),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            log_level="critical",
            proxy_headers=False,
        )
        config.load()
        self.wire, self.state = Wire(), ServerState()
        self.protocol = DirectProtocol(
            app.state.direct_way, config=config, server_state=self.state, app_state={}
        )
        self.protocol.connection_made(self.wire)

    async def send(self, *pieces: bytes) -> bytes:
        """Send each piece when the server has done what it can; return what it wrote in all."""
        for piece in pieces:
            if not self.wire.is_over:
                self.protocol.data_received(piece)
                await self.settle()
        return self.wire.written

    async def settle(self) -> None:
        for _ in range(200):
            await asyncio.sleep(0)

    def hang_up(self) -> None:
        self.wire.close()
        self.protocol.connection_lost(None)


def _app(echo: Echo, **more: Any) -> FastAPI:
    return create_app(echo, echo, **more)


def _request(*more: str, body: bytes | str | None = None, host: str = "localhost") -> bytes:
    said = {"messages": [{"role": "user", "content": "Zoos ärgern."}]}
    given = json.dumps(said) if body is None else body
    sent = given.encode() if isinstance(given, str) else given
    lines = [f"Host: {host}", "Content-Type: application/json", *more]
    if not any(re.match("content-length|transfer", line, re.IGNORECASE) for line in more):
        lines.append(f"Content-Length: {len(sent)}")
    return "\r\n".join(["POST / HTTP/1.1", *lines, "", ""]).encode("latin-1") + sent


async def _both_ways(sent: bytes, **more: Any) -> tuple[bytes, bool, int]:
    """Send it on both ways, which must do the same; return what they did."""
    done = []
    for pieces in ([sent], [sent[:1], sent[1:]]):
        echo = Echo()
        line = Line(_app(echo, **more))
        written = await line.send(*pieces)
        done.append((written, line.wire.is_over, echo.answered))
        line.hang_up()
    assert done[0] == done[1]
    return done[0]


def test_a_plain_request_is_answered_directly_with_the_same_bytes() -> None:
    async def ask() -> None:
        line = Line(_app(Echo()))
        line.protocol.app = None
        direct = await line.send(_request())
        head, _, body = direct.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert json.loads(body)["content"] == "You say: Zoos ärgern."
        assert (await _both_ways(_request()))[0] == direct

    asyncio.run(ask())


CHUNKED = b"2\r\n{}\r\n0\r\n\r\n"
SAID = '{"messages": [{"role": "user", "content": "%s"}]}'


@pytest.mark.parametrize(
    "sent",
    [
        _request("Connection: close"),
        _request("Connection: keep-alive"),
        _request("Connection: keep-alive, Upgrade", "Upgrade: websocket"),
        _request("Expect: 100-continue"),
        _request("X-Forwarded-For: 1.2.3.4"),
        _request("Transfer-Encoding: chunked", body=CHUNKED),
        _request("Transfer-Encoding: chunked", "Content-Length: 5", body=CHUNKED),
        _request("Content-Length: 5", "Content-Length: 6"),
        _request("Content-Length: 5", "Content-Length: 5"),
        _request("Content-Length: +5"),
        _request("Content-Length: 5 "),
        _request("Content-Length: 0x10"),
        _request("Content-Length: \xb2"),
        _request("Content-Length: 5, 5"),
        _request("Content-Length: " + "0" * 30 + "5"),
        _request("Content-Length: 99999999999"),
        _request("Content-Length: 0"),
        _request("Host: example.org"),
        _request("X: \x00"),
        _request("X: \x0b"),
        _request("X: \xe4"),
        _request("X : y"),
        _request("X"),
        _request(": y"),
        _request(" folded: y"),
        _request("X:"),
        _request("X:\ty \t"),
        _request("X: a\rb"),
        _request("X: a\nb"),
        _request("X(): y"),
        _request("X: " + "y" * 10_000),
        _request(*(f"X{number}: y" for number in range(200))),
        _request("content-type: text/plain"),
        _request("Content-Encoding: gzip"),
        _request(host=""),
        _request(host="evil.example"),
        _request("Origin: http://evil.example"),
        _request("Origin: http://localhost"),
        _request("Sec-Fetch-Site: cross-site"),
        _request(f"Authorization: Bearer {TOKEN}"),
        _request("Authorization: Bearer no"),
        _request(body=""),
        _request(body="{"),
        _request(body="[]"),
        _request(body="{}"),
        _request(body=b"\xff"),
        _request(body=b"\xef\xbb\xbf" + (SAID % "a").encode()),
        _request(body=(SAID % "a").encode("utf-16")),
        _request(body=SAID % "\\ud800"),
        _request(body=SAID % "a\\u0000b"),
        _request(body=SAID % ""),
        _request(body=SAID % "fail"),
        _request(body='{"messages": []}'),
        _request(body='{"messages": [{"role": "x"}]}'),
        _request(body=SAID.replace("user", "assistant") % "a"),
        _request(body='{"messages": [{"role": "user", "content": NaN}]}'),
        _request(body='{"messages": [{"role": "user", "content": 1e999}]}'),
        _request(body='{"messages": ' + "[" * 5000 + "]" * 5000 + "}"),
        _request(body=SAID % ("x" * 200_000)),
        _request(body=SAID % ("x" * 70_000)),
        _request().replace(b"POST /", b"POST /?a=b"),
        _request().replace(b"POST", b"post"),
        _request().replace(b"POST / ", b"POST  / "),
        _request().replace(b"1.1", b"1.0"),
        _request().replace(b"POST /", b"POST //"),
        _request().replace(b"\r\n", b"\n"),
        _request().replace(b"Host: localhost\r\n", b""),
        b"\r\n" + _request(),
        _request().replace(b"POST /", b"POST http://localhost/"),
        _request().replace(b"Content-Type: application/json\r\n", b""),
        _request().replace(b"application/json", b"Application/JSON; charset=latin-1"),
        _request().replace(b"application/json", b"application/ld+json"),
        _request() * 3,
        _request() + b"GET / HTTP/1.1\r\n\r\n",
        _request() + b"\x00",
        b"POST / HTTP/1.1",
        _request(body=SAID % "a") + _request("Connection: close") + _request(),
    ],
)
def test_both_ways_do_the_same(sent: bytes) -> None:
    loopback = Access(loopback=True)
    for access in (Access(), loopback, Access(token=TOKEN)):
        asyncio.run(_both_ways(sent, access=access))
    asyncio.run(_both_ways(sent, limits=Limits(requests=0)))


_HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "Host",
                "Content-Length",
                "content-type",
                "Connection",
                "Transfer-Encoding",
                "X",
                "TE",
                "Expect",
                "Authorization",
                "Origin",
                "\x00",
                "a b",
                "",
            )
        ),
        st.sampled_from((": ", ":", " :", ":\t", "")),
        st.sampled_from(
            (
                "localhost",
                "5",
                "0",
                "application/json",
                "close",
                "keep-alive",
                "chunked",
                "\x7f",
                "é",
                "",
                "100-continue",
                " ",
                "a\r\n b",
            )
        ),
    ),
    max_size=3,
)


@given(_HEADERS, st.integers(0, 400), st.binary(max_size=2), st.integers(0, 3))
def test_changed_requests_are_read_in_the_same_way(
    headers: Sequence[tuple[str, str, str]], at: int, instead: bytes, cut: int
) -> None:
    whole = _request(*map("".join, headers))
    at = min(at, len(whole))
    asyncio.run(_both_ways(whole[:at] + instead + whole[at + cut :]))


def test_requests_that_follow_each_other_are_answered_in_turn() -> None:
    async def ask() -> None:
        echo = Echo()
        line = Line(_app(echo))
        echo.go_on.clear()
        sent = [_request(body=SAID % word) for word in ("one", "two", "three")]
        assert await line.send(sent[0]) == b""
        assert await line.send(sent[1] + sent[2][:50]) == b""
        assert line.wire.is_paused
        echo.go_on.set()
        await line.settle()
        assert not line.wire.is_paused
        written = await line.send(sent[2][50:])
        assert re.findall(b"You say: [a-z]+", written) == [
            b"You say: one",
            b"You say: two",
            b"You say: three",
        ]

    asyncio.run(ask())


def test_a_body_may_come_in_pieces() -> None:
    async def ask() -> None:
        echo = Echo()
        line = Line(_app(echo))
        sent = _request()
        cut = len(sent) - 20
        assert await line.send(sent[:cut], sent[cut:-1]) == b""
        assert b"You say" in await line.send(sent[-1:])
        assert line.wire.written == (await Line(_app(Echo())).send(sent))

    asyncio.run(ask())


def test_a_body_that_does_not_come_is_waited_for_as_long_as_on_the_other_way() -> None:
    async def ask() -> None:
        limits = Limits(body_seconds=0.05)
        line = Line(_app(Echo(), limits=limits))
        written = await line.send(_request()[:-1])
        for _ in range(300):
            if written := line.wire.written:
                break
            await asyncio.sleep(0.01)
        assert written.startswith(b"HTTP/1.1 408 ")
        assert line.wire.is_over

    asyncio.run(ask())


def test_at_the_end_an_answer_is_finished_and_nothing_new_is_begun() -> None:
    async def ask() -> None:
        echo = Echo()
        line = Line(_app(echo))
        echo.go_on.clear()
        await line.send(_request(), _request())
        line.protocol.shutdown()
        assert not line.wire.is_over
        assert line.state.tasks
        echo.go_on.set()
        await line.settle()
        assert line.wire.written.count(b"HTTP/1.1 200 OK") == 1
        assert line.wire.is_over
        assert not line.state.tasks

    asyncio.run(ask())


def test_a_client_that_hangs_up_is_forgotten() -> None:
    async def ask() -> None:
        echo = Echo()
        app = _app(echo)
        echo.go_on.clear()
        line = Line(app)
        await line.send(_request())
        assert app.state.direct_way.gatekeeper.load.requests == 1
        line.hang_up()
        echo.go_on.set()
        await line.settle()
        assert app.state.direct_way.gatekeeper.load.requests == 0
        assert line.wire.written == b""
        assert not line.state.connections

    asyncio.run(ask())
