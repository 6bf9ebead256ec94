"""Limits of the server: who may ask, how much, how many at a time, and for how long."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ipaddress
import re
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEADER_SECONDS: Final = 30.0
BODY_SECONDS: Final = 60.0
READ_SECONDS: Final = 30.0
"""Time that a client has to read what was sent to it."""
CHECK_SECONDS: Final = 2.0
"""Seconds between two checks of the time limits of a connection."""
SEND_BUFFER: Final = 2**16
AHEAD: Final = 8
"""Requests that a client may send before the first of them is answered."""
STARTS: Final = 8
"""Requests that begin in one turn of the event loop; further ones wait for the next turns."""
_PIECE: Final = 2**12
"""Bytes that are parsed before the number of requests is checked."""
SMALL: Final = 256 * 2**10
"""Bytes of a body that may have any content."""
_STRUCTURE: Final = b'[]{},:"'
_LEAST_CONTENT: Final = 0.75
"""Least share of other characters. No request is answered while a body is parsed, and many short
values take much longer than a long text, or the numbers of embeddings, of the same size."""
_DISCARDED: Final = 16
"""Times the maximum size that are read of a larger body, so that its client gets the response."""
_HOST: Final = re.compile(r"(?:\[([^\[\]]*)\]|([^\s:@/\[\]]*))(?::\d*)?")
DEFAULT_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
"""Headers of every response that does not set its own."""


class EarlyResponse(Exception):
    """A response that is sent without calling the application."""

    def __init__(self, status: int, detail: str) -> None:
        self.status = status
        self.detail = detail

    def response(self) -> JSONResponse:
        """Return one line of JSON; the connection is closed, because the body may be unread."""
        headers = {"connection": "close"}
        if self.status == 401:
            headers["www-authenticate"] = 'Basic realm="touche-rad", charset="UTF-8"'
        if self.status == 503:
            headers["retry-after"] = "5"
        return JSONResponse({"detail": self.detail}, self.status, headers)


@dataclass(frozen=True)
class Limits:
    """What the server accepts."""

    body: int = 4 * 2**20
    """Maximum bytes of a body."""
    requests: int = 4096
    """Maximum number of requests at a time."""
    body_seconds: float = BODY_SECONDS
    """Time limit of the arrival of a body."""


@dataclass(frozen=True)
class Access:
    """Who may ask."""

    token: str = ""
    """What clients must send; empty = nothing."""
    loopback: bool = False
    """Whether the server can be reached from this machine only."""
    names: frozenset[str] = frozenset()
    """Names of the server besides `localhost` and addresses."""

    def check(self, headers: Headers) -> None:
        """Refuse web pages of other servers, and foreign names that lead to this machine."""
        origin = headers.get("origin")
        host = headers.get("host", "")
        if origin is not None and origin.partition("://")[2] != host:
            raise EarlyResponse(403, "web pages of other servers may not send requests to this one")
        by_browser = origin is not None or "sec-fetch-site" in headers
        if (self.loopback or (by_browser and not self.token)) and not self._is_ours(host):
            raise EarlyResponse(
                403, "the Host header is no name of this server: start it with --allow-host NAME"
            )

    def _is_ours(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        address = (match[1] if match else None) or ""
        name = ((match[2] if match else None) or "").lower()
        is_local = name == "localhost" or name.endswith(".localhost")
        return is_local or name in self.names or _address(address or name) is not None

    def is_authorized(self, headers: Headers) -> bool:
        """Whether the token was sent, alone or as the password that a browser asks for."""
        kind, _, text = headers.get("authorization", "").partition(" ")
        value = text.encode("latin-1")
        if kind.lower() == "basic":
            try:
                value = base64.b64decode(value).partition(b":")[2]
            except binascii.Error:
                return False
        elif kind.lower() != "bearer":
            return False
        return hmac.compare_digest(value.strip(), self.token.encode())


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def own_names() -> frozenset[str]:
    """Return the names of this machine."""
    return frozenset((socket.gethostname().lower(), socket.getfqdn().lower()))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


class Gate:
    """Checks each request, and reads its whole body, before the application sees it."""

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        access: Access,
        instead: Callable[[str, str], JSONResponse | None] = lambda path, detail: None,
    ) -> None:
        """`instead` returns the response of a path to a body that is too large, if it has one."""
        self.app = app
        self.limits = limits
        self.access = access
        self.instead = instead
        self.requests = 0
        """Number of requests that are being answered."""
        self._starts = asyncio.Semaphore(STARTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in DEFAULT_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        connection = scope.get("state", {}).get("connection")
        timed = connection.request() if connection is not None else nullcontext()
        with timed:
            if scope["path"] != "/health":  # which is answered at once, beside a thousand others
                async with self._starts:
                    await asyncio.sleep(0)
            try:
                headers = Headers(scope=scope)
                self.access.check(headers)
                if self.access.token and not self.access.is_authorized(headers):
                    if scope["path"] == "/health":
                        await JSONResponse({"status": "ok"})(scope, receive, send_secured)
                        return
                    raise EarlyResponse(
                        401, "expected the server's token: `Authorization: Bearer TOKEN`"
                    )
                if "content-length" in headers and "transfer-encoding" in headers:
                    # A proxy may read such a request in another way than this server does.
                    raise EarlyResponse(
                        400, "expected Content-Length or Transfer-Encoding, not both"
                    )
                length = headers.get("content-length", "0")
                if length.isdigit() and int(length) > _DISCARDED * self.limits.body:
                    raise self._too_large()
                if self.requests >= self.limits.requests and scope["method"] == "POST":
                    raise EarlyResponse(
                        503, f"busy: {self.requests} requests are being answered; try later"
                    )
                self.requests += 1
                try:
                    body = await self._read(receive)
                    pending = [{"type": "http.request", "body": body, "more_body": False}]

                    async def receive_again() -> Message:
                        return pending.pop() if pending else await receive()

                    await self.app(scope, receive_again, send_secured)
                finally:
                    self.requests -= 1
            except EarlyResponse as early:
                response = early.response()
                if early.status == 413:
                    response = self.instead(scope["path"], early.detail) or response
                await response(scope, receive, send_secured)
            except ClientDisconnect:
                pass

    def _too_large(self) -> EarlyResponse:
        return EarlyResponse(413, f"expected a body of at most {self.limits.body} bytes")

    async def _read(self, receive: Receive) -> bytes:
        """Read the whole body."""
        body = bytearray()
        size = 0
        is_complete = False
        seconds = self.limits.body_seconds
        try:
            async with asyncio.timeout(seconds):
                while not is_complete:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    part = message.get("body", b"")
                    size += len(part)
                    if size > _DISCARDED * self.limits.body:
                        raise self._too_large()
                    if size <= self.limits.body:
                        body += part
                    is_complete = not message.get("more_body", False)
        except TimeoutError:
            detail = f"the body did not arrive within {seconds:g} seconds"
            raise EarlyResponse(408, detail) from None
        if size > self.limits.body:
            raise self._too_large()
        if size > SMALL and len(body.translate(None, _STRUCTURE)) < _LEAST_CONTENT * size:
            raise EarlyResponse(413, "expected a body of texts, got many short values")
        return bytes(body)


class TimedConnection(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
    """A connection of uvicorn that is closed if its client does not send, or does not read.

    Uvicorn has a time limit only for idle connections after a request. It passes `app_state` to
    the application as `scope["state"]`, by which `Gate` finds the connection of a request.
    """

    most_connections: ClassVar[int] = sys.maxsize
    """Maximum number of open connections; for a further one, the longest waiting one is closed."""

    def __init__(self, *, app_state: dict[str, Any], **options: object) -> None:
        super().__init__(app_state={**app_state, "connection": self}, **options)
        self.head_since: float | None = None
        """When the connection was made, or when an unfinished request began to arrive."""
        self.unread_since: float | None = None
        """Since when the client has not read what was sent."""
        self.requests = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start the time limit of the first request."""
        # Without a buffer, `pause_writing` is called as soon as the client reads too slowly.
        transport.set_write_buffer_limits(high=0)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            # Few answers go ahead of the client, so that one that reads none of them is closed.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self.head_since = self.loop.time()
        self.timer = self.loop.call_later(CHECK_SECONDS, self._check)
        super().connection_made(transport)
        # Without a free file, no further client would be answered.
        if len(self.connections) > self.most_connections:
            waiting = [connection for connection in self.connections if connection.is_waiting()]
            longest = min(waiting, key=lambda connection: connection.head_since, default=self)
            longest._reset()

    def is_waiting(self) -> bool:
        """Whether the connection is open and its request has not arrived."""
        return self.head_since is not None and not self.transport.is_closing()

    def data_received(self, data: bytes) -> None:
        """Start the time limit of a request, which ends when `Gate` has the complete header.

        A client that sends too many requests ahead is closed: uvicorn parses all that has arrived,
        and nothing else is answered meanwhile.
        """
        if self.head_since is None and not self.requests:
            self.head_since = self.loop.time()
        for start in range(0, len(data), _PIECE):
            super().data_received(data[start : start + _PIECE])
            if len(self.pipeline) > AHEAD:
                self._reset()
            if self.transport.is_closing():
                return

    def pause_writing(self) -> None:
        """Start the time limit of reading."""
        self.unread_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Stop the time limit of reading."""
        self.unread_since = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all time limits."""
        self.timer.cancel()
        super().connection_lost(exc)

    @contextmanager
    def request(self) -> Iterator[None]:
        """Stop the time limit of sending while a request is answered."""
        self.requests += 1
        self.head_since = None
        try:
            yield
        finally:
            self.requests -= 1

    def _check(self) -> None:
        """Close the connection if a time limit is over; rare checks cost less than timers."""
        now = self.loop.time()
        limits = [(self.head_since, HEADER_SECONDS), (self.unread_since, READ_SECONDS)]
        if any(since is not None and now - since > seconds for since, seconds in limits):
            self._reset()
        else:
            self.timer = self.loop.call_later(CHECK_SECONDS, self._check)

    def _reset(self) -> None:
        """Close the connection at once: the kernel forgets what the client does not read."""
        raw = self.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()
