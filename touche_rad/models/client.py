"""HTTP requests: one asynchronous client of httpx2, with limits for the time and size of replies.

httpx2 is imported with the first request, because that takes 0.1 s.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from touche_rad.text import load_json

if TYPE_CHECKING:
    import httpx2

CONNECT: Final = 20.0
"""Seconds in which a connection must be made."""
LARGEST: Final = 16 * 2**20
"""Maximum bytes of a reply."""


@dataclass(frozen=True)
class Reply:
    """The reply to a request; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        """Return the content as JSON values; raise ValueError if it is none."""
        return load_json(self.content)

    @property
    def retry_after(self) -> float | None:
        """Seconds of Retry-After; None without it, or if it is a date."""
        try:
            seconds = float(self.headers.get("retry-after", ""))
        except ValueError:
            return None
        return seconds if 0 <= seconds < 3600 else None


class NoReply(OSError):
    """The server cannot be reached, or the connection broke before the reply was complete."""


class TooLarge(Exception):
    """The reply is larger than allowed."""


@dataclass
class Client:
    """Sends requests and keeps connections open for the next ones; redirects are not followed.

    The caller limits the time and the number of parallel requests.
    """

    _clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = field(
        default_factory=WeakKeyDictionary
    )
    """A client of httpx2 belongs to the event loop in which it was used first."""

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def prepare(self) -> httpx2.AsyncClient:
        """Return the client of this event loop; the first one loads certificates."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            import httpx2

            client = self._clients[loop] = httpx2.AsyncClient(
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
                headers={"Accept-Encoding": "identity", "User-Agent": "touche-rad"},
            )
        return client

    async def send(
        self,
        method: str,
        url: str,
        content: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        connect: float = CONNECT,
        largest: int = LARGEST,
    ) -> Reply:
        """Send a request and return the reply.

        Raises:
            NoReply: There is no connection, or it ended before the reply was complete.
            TooLarge: The reply is larger than `largest`.
        """
        import httpx2

        client, received = self.prepare(), bytearray()
        kind = {"Content-Type": "application/json"} if content else {}
        try:
            async with client.stream(
                method,
                url,
                content=content,
                headers={**kind, **(headers or {})},
                params=params,
                timeout=httpx2.Timeout(None, connect=connect),
            ) as reply:
                async for part in reply.aiter_bytes():
                    received += part
                    if len(received) > largest:
                        raise TooLarge
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError) as error:
            raise NoReply(_reason(error)) from error
        return Reply(reply.status_code, dict(reply.headers), bytes(received))

    async def close(self) -> None:
        """Close the connections of this event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()


def _reason(error: Exception) -> str:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return "connection refused" if "connection attempts failed" in reason else reason
