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
        sent = {"q": words, "format": "json"}
        try:
            with anyio.fail_after(self._seconds):
                async with Client() as client:
                    reply = await client.send("GET", self._address, params=sent, largest=LARGEST)
            return self._pages(reply)[:k]
        except TimeoutError:
            why = f"no answer within {self._seconds:.3g} s"
        except TooLarge:
            why = f"the reply is larger than {LARGEST} bytes"
        except (NoReply, ValueError) as error:
            why = plain(str(error), 200)
        raise SearchFailed(f"{self.place}: {why}")

    def _pages(self, reply: Reply) -> list[Page]:
        if reply.status != HTTPStatus.OK:
            hint = ": add json to search.formats in its settings" if reply.status == 403 else ""
            raise ValueError(f"{reply.status}{hint}")
        try:
            results = reply.json()["results"]
            pages = [
                page_of(one.get("title"), one.get("content"), _web_address(one.get("url")))
                for one in results
                if isinstance(one, dict)
            ]
        except (ValueError, TypeError, KeyError):
            raise ValueError("the reply is not JSON with results") from None
        return [page for page in pages if page.text]


def _without_commands(query: str) -> str:
    words = (word.lstrip(_COMMANDS) for word in plain(query, LONGEST_QUERY).split())
    return " ".join(word for word in words if word)


def _web_address(url: Any) -> str:
    return url if isinstance(url, str) and url.startswith(("http://", "https://")) else ""
