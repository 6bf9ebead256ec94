"""Limits of the server: who may ask, how much, how many at a time, and for how long."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ipaddress
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEADER_SECONDS: Final = 30.0
BODY_SECONDS: Final = 60.0
READ_SECONDS: Final = 30.0
"""Time that a client has to read what was sent to it."""
_LOOK_SECONDS: Final = 2.0
"""Seconds between two looks at the time limits of a connection."""
SMALL: Final = 256 * 2**10
"""Bytes of a body that are always accepted; only what is beyond counts as held memory."""
RETRY_AFTER: Final = "5"

DEFAULT_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
)
"""Headers of every response that does not set its own."""


@dataclass(frozen=True)
class Limits:
    """What the server accepts.

    Args:
        body: Maximum bytes of a body.
        held: Maximum bytes of all large bodies at a time.
        containers: Maximum number of objects and lists in a body; no other request is answered
            while a body is parsed.
        requests: Maximum number of requests at a time.
        body_seconds: Time limit of the arrival of a body.
    """

    body: int = 4 * 2**20
    held: int = 64 * 2**20
    containers: int = 100_000
    requests: int = 4096
    body_seconds: float = BODY_SECONDS


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Args:
        token: What clients must send; empty = nothing.
        loopback: Whether the server can be reached from this machine only.
        names: Names of the server besides `localhost` and addresses.
    """

    token: str = ""
    loopback: bool = False
    names: frozenset[str] = frozenset()

    def refusal(self, path: str, headers: Mapping[bytes, bytes]) -> Refusal | None:
        """Return why a request is refused, or None."""
        origin, host = headers.get(b"origin"), headers.get(b"host", b"").decode("latin-1")
        if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
            return Refusal(403, "web pages of other servers may not send requests to this one")
        by_browser = origin is not None or b"sec-fetch-site" in headers
        if (self.loopback or (by_browser and not self.token)) and not self._is_ours(host):
            return Refusal(
                403, "the Host header is no name of this server: start it with --allow-host NAME"
            )
        if self.token and not self._is_authorized(headers.get(b"authorization", b"")):
            if path == "/health":
                return Refusal(200, "", {"status": "ok"})
            return Refusal(401, "expected the server's token: `Authorization: Bearer TOKEN`")
        return None

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition("]")[0].lstrip("[") or host.partition(":")[0]
        name = name.lower()
        return (
            name in self.names
            or name == "localhost"
            or name.endswith(".localhost")
            or _is_address(name)
        )

    def _is_authorized(self, sent: bytes) -> bool:
        """Whether the token was sent, alone or as the password that a browser asks for."""
        kind, _, value = sent.partition(b" ")
        if kind.lower() == b"basic":
            try:
                value = base64.b64decode(value).partition(b":")[2]
            except binascii.Error:
                return False
        elif kind.lower() != b"bearer":
            return False
        return hmac.compare_digest(value.strip(), self.token.encode())


@lru_cache(64)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def own_names() -> frozenset[str]:
    """Return the names of this machine."""
    return frozenset((socket.gethostname().lower(), socket.getfqdn().lower()))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True)
class Refusal:
    """A response that is sent without asking the application."""

    status: int
    detail: str
    body: Mapping[str, str] | None = None

    async def send(self, send: Send) -> None:
        """Send it as one line of JSON; the connection is closed if the body was not read."""
        line = json.dumps(self.body or {"detail": self.detail}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(line)).encode()),
        ]
        if self.status == 401:
            headers.append((b"www-authenticate", b'Basic realm="touche-rad", charset="UTF-8"'))
        if self.status == 503:
            headers.append((b"retry-after", RETRY_AFTER.encode()))
        if self.status != 200:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": line})


class _Refused(Exception):
    """The body is refused."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class _Gone(Exception):
    """The client closed the connection."""


@dataclass
class Load:
    """What is being answered at the moment."""

    requests: int = 0
    held: int = 0
    """Bytes of large bodies."""


class Gate:
    """Checks each request, and reads its whole body, before the application sees it."""

    def __init__(self, app: ASGIApp, limits: Limits, access: Access) -> None:
        self.app, self.limits, self.access = app, limits, access
        self.load = Load()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        connection = scope.get("state", {}).get("connection")
        if not isinstance(connection, TimedConnection):  # another server, or a test
            await self._answer(scope, receive, send)
            return
        connection.begin_request()
        try:
            await self._answer(scope, receive, send)
        finally:
            connection.end_request()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                added = [one for one in DEFAULT_HEADERS if one[0] not in own]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        refusal = self._refusal(scope["method"], scope["path"], dict(scope["headers"]))
        if refusal is not None:
            await refusal.send(secured)
            return
        self.load.requests += 1
        taken: list[int] = []
        try:
            body = await self._read(receive, taken)
            message = {"type": "http.request", "body": body, "more_body": False}
            await self.app(scope, _given_back(message, receive), secured)
        except _Refused as refused:
            await refused.refusal.send(secured)
        except _Gone:
            pass
        finally:
            self.load.requests -= 1
            self.load.held -= sum(taken)

    def _refusal(self, method: str, path: str, headers: Mapping[bytes, bytes]) -> Refusal | None:
        """Return why a request is refused before its body is read, or None."""
        refusal = self.access.refusal(path, headers)
        if refusal is not None:
            return refusal
        announced = headers.get(b"content-length", b"0")
        if b"content-length" in headers and b"transfer-encoding" in headers:
            # A proxy may read such a request in another way than this server does.
            return Refusal(400, "expected Content-Length or Transfer-Encoding, not both")
        if announced.isdigit() and int(announced) > self.limits.body:
            return self._too_large()
        if self.load.requests >= self.limits.requests and method == "POST":
            many = self.load.requests
            return Refusal(503, f"busy: {many} requests are being answered; try later")
        return None

    def _too_large(self) -> Refusal:
        return Refusal(413, f"expected a body of at most {self.limits.body} bytes")

    async def _read(self, receive: Receive, taken: list[int]) -> bytes:
        """Return the whole body; the memory that it holds is added to `taken`."""
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _Gone
                    piece = message.get("body", b"")
                    pieces.append(piece)
                    size += len(piece)
                    if size > self.limits.body:
                        raise _Refused(self._too_large())
                    if size > SMALL:
                        taken.append(len(piece))
                        self.load.held += len(piece)
                        if self.load.held > self.limits.held:
                            raise _Refused(Refusal(503, "busy: too many large bodies; try later"))
                    if not message.get("more_body"):
                        return self._parsable(b"".join(pieces))
        except TimeoutError:
            late = f"the body did not arrive within {self.limits.body_seconds:g} seconds"
            raise _Refused(Refusal(408, late)) from None

    def _parsable(self, body: bytes) -> bytes:
        """Return a body that is parsed in a moment; brackets in texts count too."""
        most = self.limits.containers
        if len(body) > SMALL and body.count(b"{") + body.count(b"[") > most:
            raise _Refused(Refusal(413, f"expected a body of at most {most} objects and lists"))
        return body


def _given_back(message: Message, receive: Receive) -> Receive:
    """Return a function that gives a message that was read, then those that follow."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return message

    return receive_again


class TimedConnection(asyncio.Protocol):
    """A connection of uvicorn that is closed if its client does not send, or does not read.

    Uvicorn has a time limit only for idle connections after a request. It passes `app_state` to
    the application as `scope["state"]`, by which `Gate` finds the connection of a request.
    """

    def __init__(self, *, app_state: dict[str, Any], **options: Any) -> None:
        make: Any = AutoHTTPProtocol
        self._http: asyncio.Protocol = make(app_state={**app_state, "connection": self}, **options)
        self._head_since: float | None = None
        """When the connection was made, or when an unfinished request began to arrive."""
        self._unread_since: float | None = None
        """Since when the client has not read what was sent."""
        self._requests = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time limit of the first request."""
        assert isinstance(transport, asyncio.Transport)
        # Without a buffer, `pause_writing` is called as soon as the client reads too slowly.
        transport.set_write_buffer_limits(high=0)
        # asyncio does this for its own sockets only. Without it, the sockets of --processes wait
        # 40 ms for an acknowledgement before they send the rest of an answer.
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._transport, self._loop = transport, asyncio.get_running_loop()
        self._head_since = self._loop.time()
        self._timer = self._loop.call_later(_LOOK_SECONDS, self._look)
        self._http.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Start the time limit of a request, which `Gate` ends when the header is complete."""
        if self._head_since is None and not self._requests:
            self._head_since = self._loop.time()
        self._http.data_received(data)

    def eof_received(self) -> bool | None:
        """Tell uvicorn that the client sends nothing more."""
        return self._http.eof_received()

    def pause_writing(self) -> None:
        """Start the time limit of reading."""
        self._unread_since = self._loop.time()
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """Stop the time limit of reading."""
        self._unread_since = None
        self._http.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all time limits."""
        self._timer.cancel()
        self._http.connection_lost(exc)

    def begin_request(self) -> None:
        """Note that a header is complete."""
        self._requests += 1
        self._head_since = None

    def end_request(self) -> None:
        """Note that a request is answered."""
        self._requests -= 1

    def _look(self) -> None:
        """Close the connection if a time limit is over; looking rarely costs less than timers."""
        limits = (self._head_since, HEADER_SECONDS), (self._unread_since, READ_SECONDS)
        now = self._loop.time()
        if any(since is not None and now - since > seconds for since, seconds in limits):
            # Reset: otherwise the kernel keeps megabytes that the client does not read.
            raw = self._transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        else:
            self._timer = self._loop.call_later(_LOOK_SECONDS, self._look)
