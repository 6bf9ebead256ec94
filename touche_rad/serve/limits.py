"""Limits of the server: who may ask, how much, how many at a time, and for how long."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ipaddress
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from touche_rad.frozen import frozen

BODY_SECONDS: Final = 60.0
STARTS: Final = 8
"""Requests that begin in one turn of the event loop; further ones wait for the next turns."""
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


@frozen
class Limits:
    """What the server accepts."""

    body: int = 4 * 2**20
    """Maximum bytes of a body."""
    requests: int = 4096
    """Maximum number of requests at a time."""
    body_seconds: float = BODY_SECONDS
    """Time limit of the arrival of a body."""


@frozen
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
        if not self.loopback and (self.token or not by_browser):
            return
        match = _HOST.fullmatch(host)
        address, name = match.groups("") if match else ("", "")
        name = name.lower()
        is_local = name == "localhost" or name.endswith(".localhost")
        if not (is_local or name in self.names or _address(address or name) is not None):
            raise EarlyResponse(
                403, "the Host header is no name of this server: start it with --allow-host NAME"
            )

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


@dataclass
class Gate:
    """Checks each request, and reads its whole body, before the application sees it."""

    app: ASGIApp
    limits: Limits
    access: Access
    instead: Callable[[str, str], JSONResponse | None] = lambda path, detail: None
    """Returns the response of a path to a body that is too large, if it has one."""
    requests: int = 0
    """Number of requests that are being answered."""
    starts: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(STARTS))

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

        is_health = scope["path"] == "/health" and scope["method"] in ("GET", "HEAD")
        if not is_health:  # which is answered at once, beside a thousand others
            async with self.starts:
                await asyncio.sleep(0)
        try:
            headers = Headers(scope=scope)
            self.access.check(headers)
            if self.access.token and not self.access.is_authorized(headers):
                if is_health:
                    await JSONResponse({"status": "ok"})(scope, receive, send_secured)
                    return
                raise EarlyResponse(
                    401, "expected the server's token: `Authorization: Bearer TOKEN`"
                )
            if "content-length" in headers and "transfer-encoding" in headers:
                # A proxy may read such a request in another way than this server does.
                raise EarlyResponse(400, "expected Content-Length or Transfer-Encoding, not both")
            length = headers.get("content-length", "0")
            if length.isdigit() and int(length) > _DISCARDED * self.limits.body:
                raise self._too_large()
            if self.requests >= self.limits.requests and scope["method"] == "POST":
                raise EarlyResponse(
                    503, f"busy: {self.requests} requests are being answered; try later"
                )
            self.requests += 1
            try:
                pending = [
                    {"type": "http.request", "body": await self._read(receive), "more_body": False}
                ]

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
            raise EarlyResponse(
                408, f"the body did not arrive within {seconds:g} seconds"
            ) from None
        if size > self.limits.body:
            raise self._too_large()
        if size > SMALL and len(body.translate(None, _STRUCTURE)) < _LEAST_CONTENT * size:
            raise EarlyResponse(413, "expected a body of texts, got many short values")
        return bytes(body)
