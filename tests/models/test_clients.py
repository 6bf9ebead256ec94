"""Requests by plain HTTP: framing, connections that are used again, and limits."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio
import pytest

from tests.models.scripted import Scripted, serving
from touche_rad.models.clients import Clients, NoReply, Reply, TooLarge

T = TypeVar("T")
HEAD = b"HTTP/1.1 200 OK\r\n"
WHOLE = HEAD + b"Content-Length: 2\r\n\r\n{}"


class Server:
    """Answers each request with the next bytes of a list; counts connections."""

    def __init__(self, answers: Sequence[bytes], *, ends: bool = False, piece: int = 7) -> None:
        self.answers, self.ends, self.piece = list(answers), ends, piece
        self.connections = 0
        self.requests: list[bytes] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                self.requests.append(head + await reader.readexactly(int(length or 0)))
                answer = self.answers.pop(0)
                for at in range(0, len(answer), self.piece):  # as networks deliver them
                    writer.write(answer[at : at + self.piece])
                    await writer.drain()
                    await asyncio.sleep(0)
                if self.ends:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def _with(server: Server, act: Callable[[Clients], Awaitable[T]]) -> T:
    async def run() -> T:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        host, port = listening.sockets[0].getsockname()[:2]
        server.url = f"http://{host}:{port}/v1/x?y=1"
        clients = Clients()
        try:
            with anyio.fail_after(30):
                return await act(clients)
        finally:
            await clients.close()
            listening.close()

    return anyio.run(run)


def _sent(server: Server, content: bytes = b"{}", largest: int = 1000) -> Reply:
    return _with(server, lambda clients: clients.send("POST", server.url, content, largest=largest))


@pytest.mark.parametrize(
    "answer",
    [
        WHOLE,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE,
        HEAD + b"Connection: close\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\n\r\n{}",
    ],
)
def test_every_framing_of_a_reply_is_read(answer: bytes) -> None:
    server = Server([answer], ends=b"Content-Length" not in answer)
    reply = _sent(server, b'{"a": 1}')
    assert (reply.status, reply.json()) == (200, {})
    (request,) = server.requests
    assert request.startswith(b"POST /v1/x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert request.endswith(b'\r\n\r\n{"a": 1}')


def test_a_connection_is_used_again_until_the_server_closes_it() -> None:
    async def three(clients: Clients) -> None:
        for _ in range(3):
            await clients.send("GET", server.url)
            await anyio.sleep(0.05)

    server = Server([WHOLE] * 3)
    _with(server, three)
    assert server.connections == 1
    server = Server([WHOLE] * 3, ends=True)
    _with(server, three)
    assert server.connections == 3, "a closed connection is not used again"


@pytest.mark.parametrize("more", [HEAD + b"Content-Length: 1\r\n\r\n1", b"x", b"\r\n"])
def test_what_follows_a_reply_answers_no_other_request(more: bytes) -> None:
    async def ask(clients: Clients) -> None:
        for _ in range(2):
            reply = await clients.send("POST", server.url, b"{}")
            assert (reply.status, reply.content) == (200, b"{}")

    server = Server([WHOLE + more, WHOLE], piece=1000)
    _with(server, ask)
    assert server.connections == 2
    assert b"Accept-Encoding: identity" in server.requests[0]


def test_a_cancelled_request_leaves_no_reply_to_the_next_one() -> None:
    async def two(clients: Clients) -> bytes:
        with anyio.move_on_after(0.2):
            await clients.send("GET", server.url)
        return (await clients.send("GET", server.url)).content

    server = Server([HEAD + b"Content-Length: 9\r\n\r\nfirst", WHOLE])
    assert _with(server, two) == b"{}"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "disconnected"),
        (HEAD, "disconnected"),
        (HEAD + b"Content-Length: 9\r\n\r\n{}", "without sending complete message"),
        (b"\x15\x03\x01\x00\x02\x02\x16\r\n\r\n", "illegal status line"),
        (HEAD + b"X: " + b"y" * 200_000, "Receive buffer too long"),
    ],
)
def test_what_is_no_reply_is_an_error(answer: bytes, message: str) -> None:
    with pytest.raises(NoReply, match=message):
        _sent(Server([answer], ends=True))


def test_a_reply_that_is_too_large_is_not_read_to_its_end() -> None:
    with pytest.raises(TooLarge):
        _sent(Server([HEAD + b"Content-Length: 99999\r\n\r\n" + b"x" * 50_000]))


def test_nobody_listens() -> None:
    server = Server([])
    _with(server, lambda _: anyio.sleep(0))
    with pytest.raises(NoReply, match="connection refused"):
        anyio.run(Clients().send, "GET", server.url)


def test_a_key_that_http_does_not_allow_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "se\ncret")
    with pytest.raises(NoReply) as caught:
        _sent(Server([WHOLE]))
    assert "cret" not in str(caught.value)


def test_a_proxy_of_the_environment_gets_the_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as proxy:
        assert isinstance(proxy, Scripted)
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))

        async def ask() -> Reply:
            clients = Clients()
            try:
                return await clients.send("POST", "http://model.invalid/v1/chat/completions", b"{}")
            finally:
                await clients.close()

        assert anyio.run(ask).status == 200
        assert proxy.headers[0]["Host"] == "model.invalid"


def test_plain_http_does_not_load_httpx() -> None:
    code = "import sys, touche_rad.models.endpoint; sys.exit('httpx' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
