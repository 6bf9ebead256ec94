"""Requests to other machines: how often they are sent, and how long and how much is read.

The servers of models, of encoders, of simulated users and of web searches are asked by
`send_async`, or by `send` from plain code. A `Policy` has their limits. Elasticsearch has a client
of its own.

httpx2 is imported with the first request, because that takes 0.1 s.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio

from touche_rad.credentials import EMPTY
from touche_rad.errors import WorkError
from touche_rad.text import KEY, excerpt, load_json, redact

if TYPE_CHECKING:
    import httpx2

TEMPORARY: Final = frozenset((408, 409, 425, 429, *range(500, 600))) - {501}
"""Statuses after which the same request may succeed later.

- 409: another request was in the way; the clients of OpenAI send the request again, too.
- 500: a server of a model sends it when a worker has crashed, which is then started again.
- 501 is not among them: a server without a feature does not get it by waiting.
- 502 to 599: a proxy, whose server is slow or starts again. Many proxies have numbers of their own:
  524 is what Cloudflare sends for a server that is slow.
"""


class RequestError(WorkError):
    """A request without a usable reply; keys are hidden in its message."""

    retryable = False
    """Whether the same request may succeed later."""
    is_down = False
    """Whether the server answers no request at all."""

    def __init__(
        self,
        what: str,
        *,
        fix: str = "",
        status: int | None = None,
        reason: str = "",
        retry_after: float | None = None,
    ) -> None:
        """Make an error.

        Args:
            what: The address and what happened there.
            fix: What to do; the message has it, too.
            status: Of the reply, if there was one.
            reason: What the reply says about it.
            retry_after: Seconds after which the server wants the next request.
        """
        self.what = redact(what)
        self.fix = fix
        super().__init__(f"{self.what}; {fix}" if fix else self.what)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.is_down = self.is_down or (self.retryable and (status or 0) >= 500)


class NoConnection(RequestError):
    """There is no connection, or it ended before the reply was complete."""

    retryable = True
    is_down = True


class NoReplyInTime(RequestError):
    """The reply was not complete within the time limit."""

    retryable = True


class BadReply(RequestError):
    """The reply is too large, or not JSON."""

    retryable = True


class Refused(RequestError):
    """The server refuses the request."""


class Busy(RequestError):
    """The server cannot answer now: a temporary status."""

    retryable = True


@dataclass(frozen=True)
class Policy:
    """How often a request is sent, and the limits of its reply.

    Redirects are never followed: another server could get a key or a text that was not for it.
    """

    tries: int = 1
    seconds: float = 60.0
    """Time limit of each try."""
    connect: float = 20.0
    """Seconds in which a connection must be made."""
    largest: int = 16 * 2**20
    """Maximum bytes of a reply after decompression."""
    first_wait: float = 0.25
    """Seconds before the second try; they double before each further one."""
    longest_wait: float = 20.0
    longest_retry_after: float = 60.0
    """Seconds of Retry-After that are waited for at most."""

    def pause(self, tries: int, error: RequestError, end: float) -> float | None:
        """Return the seconds until the next try, or None if there is none.

        `tries` have failed, the last one with this error. Requests that failed together are spread
        by chance, but none is sent earlier than the server wants. No try begins after `end`.
        """
        wait = min(self.longest_wait, self.first_wait * 2.0 ** (tries - 1))
        wait *= random.uniform(0.5, 1.5)
        wait += min(self.longest_retry_after, error.retry_after or 0.0)
        goes_on = error.retryable and tries < self.tries and time.monotonic() + wait < end
        return wait if goes_on else None


@dataclass(frozen=True)
class Request:
    """A request for JSON."""

    place: str
    """The address as errors name it: without a key."""
    method: str
    url: str
    body: Mapping[str, Any] | None = None
    """Sent as JSON."""
    params: Mapping[str, str] | None = None
    with_key: bool = False
    """Whether the server gets the key of the environment."""


Read = Callable[[Any], Any]
"""Reads the JSON of a reply. If its error is retryable, the request is sent again."""


def _unchanged(value: Any) -> Any:
    return value


async def send_async(
    client: httpx2.AsyncClient,
    request: Request,
    policy: Policy,
    *,
    end: float = math.inf,
    read: Read = _unchanged,
) -> Any:
    """Send a request, again after temporary errors, and return the JSON of its reply.

    All tries have ended at `end`, a time on the monotonic clock.

    Raises:
        RequestError: The last try failed.
    """
    tries = 0
    while True:
        try:
            exchange = _Exchange(request, policy, end)
            with exchange.errors(), anyio.fail_after(exchange.seconds):
                async with client.stream(**exchange.arguments()) as response:
                    async for part in response.aiter_bytes():
                        exchange.add(part)
            return read(exchange.value_of(response))
        except RequestError as error:
            tries += 1
            pause = policy.pause(tries, error, end)
            if pause is None:
                raise
        await anyio.sleep(pause)


def send(
    client: httpx2.Client,
    request: Request,
    policy: Policy,
    *,
    end: float = math.inf,
    read: Read = _unchanged,
) -> Any:
    """Send a request from plain code, as `send_async` does."""
    tries = 0
    while True:
        try:
            exchange = _Exchange(request, policy, end)
            with exchange.errors(), client.stream(**exchange.arguments()) as response:
                for part in response.iter_bytes():
                    exchange.add(part)
            return read(exchange.value_of(response))
        except RequestError as error:
            tries += 1
            pause = policy.pause(tries, error, end)
            if pause is None:
                raise
        time.sleep(pause)


class _Exchange:
    """One try of a request, and what has arrived of its reply."""

    def __init__(self, request: Request, policy: Policy, end: float) -> None:
        now = time.monotonic()
        self.seconds = max(0.0, min(policy.seconds, end - now))
        self._end = now + self.seconds
        self._request = request
        self._policy = policy
        self._received = bytearray()

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `stream` of both clients.

        Its time limits are per read: those of the whole try are kept by `add`, and by AnyIO.
        """
        import httpx2

        request, headers, content = self._request, {}, None
        if request.body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(request.body).encode("ascii")
        key = os.environ.get(KEY, "")
        if request.with_key and key not in EMPTY:
            if not re.fullmatch("[!-~]+", key):
                why = f"{KEY} contains a character that HTTP does not allow"
                raise NoConnection(f"{request.place}: {why}")
            headers["Authorization"] = f"Bearer {key}"
        connect = min(self.seconds, self._policy.connect)
        return {
            "method": request.method,
            "url": request.url,
            "content": content,
            "params": request.params,
            "headers": headers,
            "timeout": httpx2.Timeout(self.seconds, connect=connect),
        }

    def add(self, part: bytes) -> None:
        """Keep a part of the reply; raise an error if it is too large or too late."""
        self._received += part
        if len(self._received) > self._policy.largest:
            why = f"the answer is larger than {self._policy.largest} bytes"
            raise BadReply(f"{self._request.place}: {why}")
        if time.monotonic() >= self._end:
            raise TimeoutError

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise what httpx2 and AnyIO raise as a RequestError."""
        import httpx2

        place = self._request.place
        try:
            yield
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            if time.monotonic() >= self._end:
                raise NoReplyInTime(f"{place}: no answer within {self.seconds:.3g} s") from None
            why = excerpt(error, 200) or type(error).__name__
            if "connection attempts failed" in why:  # AnyIO's words for several addresses
                why = "connection refused"
            raise NoConnection(f"{place}: {why}") from error

    def value_of(self, response: httpx2.Response) -> Any:
        """Return the JSON of the complete reply, or raise an error."""
        place, status = self._request.place, response.status_code
        try:
            value = load_json(bytes(self._received))
        except ValueError:
            if status == HTTPStatus.OK:
                start = excerpt(self._received.decode("utf-8", "replace"), 60)
                what = f"{place}: expected JSON, got {start!r}"
                raise BadReply(what, fix="check the address") from None
            value = ""
        if status == HTTPStatus.OK:
            return value
        reason = reason_of(value)
        raise (Busy if status in TEMPORARY else Refused)(
            f"{place}: {status}: {reason}" if reason else f"{place}: {status}",
            status=status,
            reason=reason,
            retry_after=_retry_after(response),
        )


def valid_address(url: str) -> bool:
    """Whether this is the address of a server, with no user name or password in it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # such as a port that is no number
        return False
    has_server = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    return has_server and "@" not in parts.netloc and not any(map(str.isspace, url))


def reason_of(value: Any) -> str:
    """Return the reason that a server's reply gives for an error."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return excerpt(error, 200)


def _retry_after(response: httpx2.Response) -> float | None:
    """Return the seconds of Retry-After; None without it, or if it is a date."""
    try:
        seconds = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 3600 else None


def open_client() -> httpx2.Client:
    """Return a client for plain code; it keeps connections open until it is closed."""
    import httpx2

    return httpx2.Client(**_settings())


def open_async_client() -> httpx2.AsyncClient:
    """Return a client that keeps connections open until it is closed; it belongs to its loop."""
    import httpx2

    return httpx2.AsyncClient(**_settings())


@cache
def _settings() -> dict[str, Any]:
    """Return the settings of all clients; the CAs' certificates are loaded once, in 0.1 s."""
    import httpx2

    return {
        "verify": httpx2.create_ssl_context(),
        "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        "headers": {"Accept-Encoding": "identity", "User-Agent": "touche-rad"},
        "follow_redirects": False,
    }
