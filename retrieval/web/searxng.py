"""SearXNG's JSON API: a metasearch server of the user's own.

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
"""A word that begins so is a command to the server (another engine, another site), not a word."""


class SearXNG:
    """Asks a server of the user's; no page that it names is ever opened."""

    def __init__(self, address: str, seconds: float = SECONDS) -> None:
        """Take the address, such as http://localhost:8080; nothing is sent yet."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise UserError(f"web search {address!r}: expected http://HOST:PORT without a password")
        self._address = address.rstrip("/").removesuffix("/search") + "/search"
        self._seconds = seconds

    @property
    def place(self) -> str:
        """The server."""
        return f"searxng:{self._address.removesuffix('/search')}"

    async def search(self, query: str, k: int) -> list[Page]:
        """Return the first `k` results that say something."""
        asked = _words_alone(query)
        if not asked or k < 1:
            return []
        try:
            with anyio.fail_after(self._seconds):
                held = await self._answer(asked)
        except TimeoutError:
            told = f"no answer within {self._seconds:.3g} s"
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            told = plain(str(error), 200) or type(error).__name__
        else:
            return self._pages(held)[:k]
        raise SearchFailed(f"{self.place}: {told}")

    async def _answer(self, asked: str) -> bytes:
        sent = {"q": asked, "format": "json"}
        tls = self._address.startswith("https:")  # reading certificates takes time
        async with (
            httpx.AsyncClient(follow_redirects=False, timeout=None, verify=tls) as client,
            client.stream("GET", self._address, params=sent) as reply,
        ):
            if reply.status_code != httpx.codes.OK:
                raise SearchFailed(f"{self.place}: {_told(reply.status_code)}")
            held = bytearray()
            async for part in reply.aiter_bytes():
                held += part
                if len(held) > LARGEST:
                    raise SearchFailed(f"{self.place}: the answer is over {LARGEST} bytes")
        return bytes(held)

    def _pages(self, held: bytes) -> list[Page]:
        try:
            told: Any = json.loads(held)
        except (ValueError, RecursionError):
            raise SearchFailed(f"{self.place}: the answer is no JSON") from None
        results = told.get("results") if isinstance(told, dict) else None
        if not isinstance(results, list):
            raise SearchFailed(f"{self.place}: the answer has no results")
        pages = [
            page_of(one.get("title"), one.get("content"), _web_address(one.get("url")))
            for one in results
            if isinstance(one, dict)
        ]
        return [page for page in pages if page.text]


def _words_alone(query: str) -> str:
    words = (word.lstrip(_COMMANDS) for word in plain(query, LONGEST_QUERY).split())
    return " ".join(word for word in words if word)


def _web_address(url: Any) -> str:
    return url if isinstance(url, str) and url.startswith(("http://", "https://")) else ""


def _told(status: int) -> str:
    if status == httpx.codes.FORBIDDEN:
        return "403: its settings must list json under search.formats"
    if status in (301, 302, 307, 308):
        return f"{status}: it sends elsewhere; give the address that it sends to"
    return "429: it wants to be asked less often" if status == 429 else str(status)
