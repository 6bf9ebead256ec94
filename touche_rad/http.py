"""Requests to other machines: how often they are sent, and how long and how much is read.

The servers of models, of encoders, of simulated users and of web searches are asked by `send`, from
plain code by `session.run(send, ...)`. A `RequestPolicy` has its limits. The client of
Elasticsearch has its own retries, and sends by `exchange`, within such limits.

httpx2 is imported with the first request, because that takes 0.1 s.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio

from touche_rad.credentials import EMPTY, server_of
from touche_rad.errors import WorkError
from touche_rad.frozen import frozen
from touche_rad.text import KEY, excerpt, load_json, redact

if TYPE_CHECKING:
    import ssl

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


@frozen
class RequestPolicy:
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


@frozen
class Request:
    """A request, with JSON or other content."""

    place: str
    """The address as errors name it: without a key."""
    method: str
    url: str
    body: Mapping[str, Any] | None = None
    """Sent as JSON."""
    content: bytes | None = None
    headers: Mapping[str, str] | None = None
    params: Mapping[str, str] | None = None
    with_key: bool = False
    """Whether the server gets the key of the environment, which is read when it is sent."""


Read = Callable[[object], object]
"""Reads the JSON of a reply. If its error is retryable, the request is sent again."""


async def send(
    client: httpx2.AsyncClient,
    request: Request,
    policy: RequestPolicy,
    end: float = math.inf,
    read: Read | None = None,
) -> Any:
    """Send a request, again after temporary errors, and return the JSON of its reply.

    All tries have ended at `end`, a time on the monotonic clock.

    Raises:
        RequestError: The last try failed.
    """
    tries = 0
    while True:
        try:
            response, content = await exchange(client, request, policy, end)
            status = response.status_code
            if status != HTTPStatus.OK:
                what = f"{request.place}: {status}"
                reason = ""
                with suppress(ValueError):
                    reason = reason_of(load_json(content))
                    what = f"{what}: {reason}"
                # Retry-After may also be a date, which is not obeyed.
                number = re.fullmatch(r"\d{1,4}(\.\d+)?", response.headers.get("retry-after", ""))
                retry_after = float(number[0]) if number else None
                kind = Busy if status in TEMPORARY else Refused
                raise kind(what, status=status, reason=reason, retry_after=retry_after)
            try:
                value = load_json(content)
            except ValueError:
                start = excerpt(content.decode("utf-8", "replace"), 60)
                raise BadReply(
                    f"{request.place}: expected JSON, got {start!r}", fix="check the address"
                ) from None
            return read(value) if read else value
        except RequestError as error:
            tries += 1
            pause = policy.pause(tries, error, end)
            if pause is None:
                raise
        await anyio.sleep(pause)


async def exchange(
    client: httpx2.AsyncClient, request: Request, policy: RequestPolicy, end: float = math.inf
) -> tuple[httpx2.Response, bytes]:
    """Send a request once, and return the reply of any status, with its content.

    Raises:
        NoConnection: There is no connection, or it ended too early; its cause says why.
        NoReplyInTime: The reply was not complete in time.
        BadReply: The reply is larger than the policy allows.
    """
    import httpx2

    place = request.place
    headers = dict(request.headers or {})
    content = request.content
    if request.body is not None:
        headers["Content-Type"] = "application/json"
        content = json.dumps(request.body).encode("ascii")
    key = os.environ.get(KEY, "")
    if request.with_key and key not in EMPTY:
        if not re.fullmatch("[!-~]+", key):
            raise NoConnection(f"{place}: {KEY} contains a character that HTTP does not allow")
        headers["Authorization"] = f"Bearer {key}"
    seconds = max(0.0, min(policy.seconds, end - time.monotonic()))
    received = bytearray()
    try:
        with anyio.fail_after(seconds):
            async with client.stream(
                request.method,
                request.url,
                content=content,
                params=request.params,
                headers=headers,
                timeout=httpx2.Timeout(None, connect=policy.connect),
            ) as response:
                async for part in response.aiter_bytes():
                    received += part
                    if len(received) > policy.largest:
                        raise BadReply(f"{place}: the answer is larger than {policy.largest} bytes")
    except TimeoutError:
        raise NoReplyInTime(f"{place}: no answer within {seconds:.3g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        why = excerpt(error, 200) or type(error).__name__
        if "connection attempts failed" in why:  # AnyIO's words for several addresses
            why = "connection refused"
        raise NoConnection(f"{place}: {why}") from error
    return response, bytes(received)


def valid_address(url: str) -> bool:
    """Whether this is the address of a server, with no user name or password in it."""
    # The client of HTTP could read the address of another server in one that we do not read.
    is_ours = server_of(url) is not None and urlsplit(url).port != 0
    return is_ours and not any(map(str.isspace, url))


def reason_of(value: object) -> str:
    """Return the reason that a server's reply gives for an error."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return excerpt(error, 200)


def open_client(
    authorities: ssl.SSLContext | None = None, *, proxies: bool = True
) -> httpx2.AsyncClient:
    """Return a client that keeps connections open until it is closed; it belongs to its loop.

    Args:
        authorities: The certificates that it trusts, by default those of the known CAs.
        proxies: Whether variables of the environment can name a proxy.
    """
    import httpx2

    return httpx2.AsyncClient(
        verify=authorities or certificates(),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        headers={"Accept-Encoding": "identity", "User-Agent": "touche-rad"},
        follow_redirects=False,
        trust_env=proxies,
    )


@cache
def certificates(ca: str | None = None) -> ssl.SSLContext:
    """Load those of the known CAs, and of a file; once in a process, because that takes 0.1 s.

    Raises:
        OSError: The file has no certificates.
    """
    import httpx2

    context = httpx2.create_ssl_context()
    if ca:
        context.load_verify_locations(ca)
    return context
