"""Web search by the JSON API of the user's SearXNG server.

Its settings must list `json` under `search.formats`; most public servers do not.
"""

from __future__ import annotations

import json
import ssl
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import httpx

from retrieval.web.search import Page, SearchFailed, page_of, plain
from touche_rad.errors import UserError

SECONDS: Final = 10.0
LARGEST: Final = 2_000_000
LONGEST_QUERY: Final = 400
_COMMANDS: Final = "!:?<"
"""A word with one of these prefixes is a command to the server, such as another engine or site."""


class SearXNG:
    """Asks the user's server; result pages are not opened."""

    def __init__(self, address: str, seconds: float = SECONDS) -> None:
        """Take the address, such as http://localhost:8080; no request is sent."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise UserError(f"web search {address!r}: expected http://HOST:PORT without a password")
        self._address = address.rstrip("/").removesuffix("/search") + "/search"
        self._seconds = seconds

    @property
    def place(self) -> str:
        """The server, as shown to users."""
        return f"searxng:{self._address.removesuffix('/search')}"

    async def search(self, query: str, k: int) -> list[Page]:
        """Return the first `k` results with a text."""
        words = _without_commands(query)
        if not words or k < 1:
            return []
        try:
            with anyio.fail_after(self._seconds):
                reply = await self._request(words)
        except TimeoutError:
            why = f"no answer within {self._seconds:.3g} s"
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            why = plain(str(error), 200) or type(error).__name__
        else:
            return self._pages(reply)[:k]
        raise SearchFailed(f"{self.place}: {why}")

    async def _request(self, words: str) -> bytes:
        sent = {"q": words, "format": "json"}
        tls = self._address.startswith("https:")  # loading certificates takes time
        async with (
            httpx.AsyncClient(follow_redirects=False, timeout=None, verify=tls) as client,
            client.stream("GET", self._address, params=sent) as reply,
        ):
            if reply.status_code != httpx.codes.OK:
                raise SearchFailed(f"{self.place}: {_status(reply.status_code)}")
            body = bytearray()
            async for part in reply.aiter_bytes():
                body += part
                if len(body) > LARGEST:
                    raise SearchFailed(f"{self.place}: the reply is larger than {LARGEST} bytes")
        return bytes(body)

    def _pages(self, reply: bytes) -> list[Page]:
        try:
            content: Any = json.loads(reply)
        except (ValueError, RecursionError):
            raise SearchFailed(f"{self.place}: the reply is not JSON") from None
        results = content.get("results") if isinstance(content, dict) else None
        if not isinstance(results, list):
            raise SearchFailed(f"{self.place}: the reply has no results")
        pages = [
            page_of(one.get("title"), one.get("content"), _web_address(one.get("url")))
            for one in results
            if isinstance(one, dict)
        ]
        return [page for page in pages if page.text]


def _without_commands(query: str) -> str:
    words = (word.lstrip(_COMMANDS) for word in plain(query, LONGEST_QUERY).split())
    return " ".join(word for word in words if word)


def _web_address(url: Any) -> str:
    return url if isinstance(url, str) and url.startswith(("http://", "https://")) else ""


def _status(status: int) -> str:
    if status == httpx.codes.FORBIDDEN:
        return "403: add json to search.formats in its settings"
    if status in (301, 302, 307, 308):
        return f"{status}: redirected; use the address that the server redirects to"
    return "429: too many requests" if status == 429 else str(status)
