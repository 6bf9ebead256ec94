"""HTTP requests, many at a time: plain HTTP by h11, TLS and proxies by httpx.

A server without TLS is often on the same machine, where a model needs the processor: a request by
h11 takes 0.15 ms of processor time, one by httpx 1 ms, and its import 85 ms.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import json
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies

import anyio
import h11

from touche_rad.text import KEY

if TYPE_CHECKING:
    import httpx

_PER_CLIENT: Final = 8
"""Requests that a client sends at a time."""
_LONGEST_CONNECT: Final = 20.0
_IDLE: Final = 5.0
"""Seconds after which an open connection is not used again."""
_LONGEST_HEADERS: Final = 100 * 1024
_NO_KEY: Final = "EMPTY"
"""The value of the variable for a server without keys."""


@dataclass(frozen=True)
class Reply:
    """The reply to a request; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        """Return the content as JSON values; raise ValueError or RecursionError if it is none."""
        return json.loads(self.content)


class NoReply(OSError):
    """The server cannot be reached, or what it sent is no reply."""


class TooLarge(Exception):
    """The content of a reply is larger than allowed."""


class Clients:
    """The connections of an event loop."""

    def __init__(self) -> None:
        self._httpx = _HttpxClients()
        self._open: dict[tuple[str, int], list[_Connection]] = {}
        """Connections that are not in use, the one that was used last at the end."""
        self._targets: dict[str, _Target | None] = {}

    def prepare(self, url: str) -> None:
        """Load what requests to an address need."""
        if self._target(url) is None:
            self._httpx.prepare()

    def _target(self, url: str) -> _Target | None:
        if url not in self._targets:
            self._targets[url] = _plain(url)
        return self._targets[url]

    async def send(
        self,
        method: str,
        url: str,
        content: bytes = b"",
        *,
        connect: float = _LONGEST_CONNECT,
        largest: int = 2**24,
    ) -> Reply:
        """Send a request and return the reply; redirects are not followed.

        Args:
            method: GET or POST.
            url: The whole address.
            content: JSON.
            connect: Seconds in which a connection must be made.
            largest: Bytes of the largest content that is read.

        Raises:
            NoReply: There is no connection, or it ended before the reply was complete.
            TooLarge: The content is larger.
        """
        target, headers = self._target(url), _headers(method)
        if target is None:
            return await self._httpx.send(method, url, content, headers, connect, largest)
        connection = self._reused(target) or await _connected(target, connect)
        try:
            reply = await connection.exchange(method, target, headers, content, largest)
        except BaseException:  # what comes later belongs to no other request
            connection.abort()
            raise
        if connection.reusable():
            self._open.setdefault(target.server, []).append(connection)
        else:
            connection.abort()
        return reply

    def _reused(self, target: _Target) -> _Connection | None:
        now = asyncio.get_running_loop().time()
        kept = self._open.get(target.server, [])
        while kept:
            connection = kept.pop()
            if connection.is_open and now - connection.used < _IDLE:
                return connection
            connection.abort()
        return None

    async def close(self) -> None:
        """Close all connections that are not in use."""
        for kept in self._open.values():
            for connection in kept:
                connection.abort()
        self._open.clear()
        await self._httpx.close()


class _Target(NamedTuple):
    """Where a request by plain HTTP goes."""

    host: str
    port: int
    path: str
    name: str
    """The host as it is written in the address, with the port."""

    @property
    def server(self) -> tuple[str, int]:
        return self.host, self.port


def _plain(url: str) -> _Target | None:
    """Return where a request goes; None if httpx sends it: TLS, a proxy or an unusual address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        return None
    unusual = not url.isascii() or not url.isprintable() or " " in url or "@" in parts.netloc
    if parts.scheme != "http" or not host or unusual or {"http", "all"} & set(getproxies()):
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Target(host, port, path, parts.netloc)


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST_HEADERS)
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[Reply] | None = None
        self._head: h11.Response | None = None
        self._content = bytearray()
        self._largest = 0
        self.is_open = False
        self.used = 0.0
        """When it got its last reply, by the clock of the event loop."""

    async def exchange(
        self, method: str, target: _Target, headers: Mapping[str, str], content: bytes, largest: int
    ) -> Reply:
        """Send a request and return the reply."""
        loop = asyncio.get_running_loop()
        self._head, self._content, self._largest = None, bytearray(), largest
        whole = {"Host": target.name, **headers, "User-Agent": "touche-rad"}
        if content:
            whole["Content-Length"] = str(len(content))
        request = h11.Request(method=method, target=target.path, headers=list(whole.items()))
        parts = [self._http.send(request)]
        if content:
            parts.append(self._http.send(h11.Data(data=content)))
        self._http.send(h11.EndOfMessage())
        if self._transport is None or not self.is_open:
            raise NoReply(_DISCONNECTED)
        self._reply = loop.create_future()
        self._transport.write(b"".join(part for part in parts if part))
        reply = await self._reply
        self.used = loop.time()
        return reply

    def reusable(self) -> bool:
        """Whether another request may be sent."""
        if not self.is_open or self._http.our_state is not h11.DONE:
            return False
        if self._http.their_state is not h11.DONE or self._http.trailing_data[0]:
            return False  # what came after the reply answers no request
        self._http.start_next_cycle()
        return True

    def abort(self) -> None:
        """Close the connection at once."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self.is_open = transport, True

    def data_received(self, data: bytes) -> None:
        if self._reply is None or self._reply.done():  # nothing was asked
            self.abort()
            return
        self._receive(data)

    def eof_received(self) -> None:
        self.is_open = False
        if self._reply is not None and not self._reply.done():
            self._receive(b"")

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self._fail(NoReply(str(error) if error else _DISCONNECTED))

    def _receive(self, data: bytes) -> None:
        try:
            self._http.receive_data(data)
            self._read()
        except h11.RemoteProtocolError as error:
            begun = self._head is not None or bool(data)
            self._fail(NoReply(str(error) if begun else _DISCONNECTED))

    def _read(self) -> None:
        """Handle what has come; end the exchange if the reply is complete."""
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Response):
                self._head = event
            elif isinstance(event, h11.Data):
                self._content += event.data
                if len(self._content) > self._largest:
                    self._fail(TooLarge())
                    return
            elif isinstance(event, h11.EndOfMessage):
                self._complete()
                return
            elif event is h11.NEED_DATA:
                return
            elif not isinstance(event, h11.InformationalResponse):
                self._fail(NoReply(_DISCONNECTED))
                return

    def _complete(self) -> None:
        assert self._head is not None
        assert self._reply is not None
        headers = {
            name.decode("ascii"): value.decode("latin-1") for name, value in self._head.headers
        }
        reply = Reply(self._head.status_code, headers, bytes(self._content))
        if not self._reply.done():
            self._reply.set_result(reply)

    def _fail(self, error: Exception) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error)


_DISCONNECTED: Final = "Server disconnected without sending a response."


async def _connected(target: _Target, seconds: float) -> _Connection:
    loop = asyncio.get_running_loop()
    try:
        with anyio.fail_after(seconds):
            _, connection = await loop.create_connection(_Connection, target.host, target.port)
    except TimeoutError:
        raise NoReply(f"no connection within {seconds:g} s") from None
    except OSError as error:
        refused = f"Errno {errno.ECONNREFUSED}]" in str(error)  # of several addresses, perhaps
        raise NoReply("connection refused" if refused else str(error)) from error
    return connection


class _HttpxClients:
    """Clients of httpx, each for a few requests at a time.

    A client looks at all its connections for each request, so one client for a thousand requests
    would take longer than the requests.
    """

    def __init__(self) -> None:
        self._all: list[httpx.AsyncClient] = []
        self._free: list[httpx.AsyncClient] = []
        """A client once for each request that it may still send."""

    async def send(
        self,
        method: str,
        url: str,
        content: bytes,
        headers: Mapping[str, str],
        connect: float,
        largest: int,
    ) -> Reply:
        """Send a request and return the reply."""
        import httpx

        held, timeout = bytearray(), httpx.Timeout(None, connect=connect)
        try:
            with self._lent() as client:
                async with client.stream(
                    method, url, content=content, headers=dict(headers), timeout=timeout
                ) as reply:
                    async for part in reply.aiter_bytes():
                        held += part
                        if len(held) > largest:
                            raise TooLarge
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
            raise NoReply(str(error) or type(error).__name__) from error
        return Reply(reply.status_code, dict(reply.headers), bytes(held))

    def prepare(self) -> None:
        """Make the first client, which loads certificates."""
        with self._lent():
            pass

    @contextmanager
    def _lent(self) -> Iterator[httpx.AsyncClient]:
        """Lend the client that was used last, whose connections are open."""
        if not self._free:
            self._all.append(_new_client())
            self._free += [self._all[-1]] * _PER_CLIENT
        client = self._free.pop()
        try:
            yield client
        finally:
            self._free.append(client)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._all:
            await client.aclose()


def _headers(method: str) -> dict[str, str]:
    """Return the headers of a request; the key is read now."""
    headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
    key = os.environ.get(KEY, "")
    if key and key != _NO_KEY:
        if not (key.isascii() and key.isprintable()) or key != key.strip():
            raise NoReply(f"{KEY} contains a character that HTTP does not allow")
        headers["Authorization"] = f"Bearer {key}"
    return headers | ({"Content-Type": "application/json"} if method == "POST" else {})


def _new_client() -> httpx.AsyncClient:
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=_PER_CLIENT)
    return httpx.AsyncClient(limits=limits, verify=certificates())


def certificates() -> ssl.SSLContext:
    """Return the certificates that this process trusts; all its clients share them."""
    return _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@functools.cache  # loading them takes 30 ms
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Load the certificates that these two environment variables name."""
    import httpx

    return httpx.create_ssl_context()
