"""Web search by the JSON API of the user's SearXNG server.

Its settings must list `json` under `search.formats`; most public servers do not.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import anyio

from retrieval.web.search import Page, SearchFailed, page_of, plain
from touche_rad.errors import UserError
from touche_rad.models.endpoint import Client, NoReply, Reply, TooLarge

SECONDS: Final = 10.0
LARGEST: Final = 2_000_000
LONGEST_QUERY: Final = 400
_COMMANDS: Final = "!:?<"
"""A word with one of these prefixes is a command to the server, such as another engine or site."""


class SearXNG:
    """Asks the user's server; result pages are not opened."""

    def __init__(self, address: str, seconds: float = SECONDS) -> None:
        """Take the address, such as http://localhost:8080; no request is sent."""
        try:
            parts = urlsplit(address)
            valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # such as a port that is no number
            valid = False
        if not valid or "@" in parts.netloc:
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
                sent = {"q": words, "format": "json"}
                async with Client() as client:
                    reply = await client.send("GET", self._address, params=sent, largest=LARGEST)
        except TimeoutError:
            why = f"no answer within {self._seconds:.3g} s"
        except NoReply as error:
            why = plain(str(error), 200)
        except TooLarge:
            why = f"the reply is larger than {LARGEST} bytes"
        else:
            if reply.status == HTTPStatus.OK:
                return self._pages(reply)[:k]
            why = _status(reply.status)
        raise SearchFailed(f"{self.place}: {why}")

    def _pages(self, reply: Reply) -> list[Page]:
        try:
            content: Any = reply.json()
        except ValueError:
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
    if status == HTTPStatus.FORBIDDEN:
        return "403: add json to search.formats in its settings"
    if status in (301, 302, 307, 308):
        return f"{status}: redirected; use the address that the server redirects to"
    return "429: too many requests" if status == 429 else str(status)
