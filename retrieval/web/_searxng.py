"""Web search by the JSON API of the user's SearXNG server.

Its settings must list `json` under `search.formats`; most public servers do not.
"""

from __future__ import annotations

from typing import Final

from retrieval.web.search import Page, SearchFailed, page_of, plain
from touche_rad import http
from touche_rad.errors import UserError

LARGEST: Final = 2_000_000
_POLICY: Final = http.RequestPolicy(seconds=10.0, largest=LARGEST)
LONGEST_QUERY: Final = 400
_COMMANDS: Final = "!:?<"
"""A word with one of these prefixes is a command to the server, such as another engine or site."""


class SearXNG:
    """Asks the user's server; result pages are not opened."""

    def __init__(self, address: str) -> None:
        """Take the address, such as http://localhost:8080; no request is sent."""
        if not http.valid_address(address):
            raise UserError(f"web search {address!r}: expected http://HOST:PORT without a password")
        self._address = address.rstrip("/").removesuffix("/search") + "/search"

    @property
    def place(self) -> str:
        """The server, as shown to users."""
        return f"searxng:{self._address.removesuffix('/search')}"

    async def search(self, query: str, k: int) -> list[Page]:
        """Return the first `k` results with a text."""
        bare = (word.lstrip(_COMMANDS) for word in plain(query, LONGEST_QUERY).split())
        words = " ".join(filter(None, bare))
        if not words or k < 1:
            return []
        request = http.Request(
            self.place, "GET", self._address, params={"q": words, "format": "json"}
        )
        try:
            async with http.open_client() as client:
                reply = await http.send(client, request, _POLICY)
        except http.RequestError as error:
            hint = ": add json to search.formats in its settings" if error.status == 403 else ""
            raise SearchFailed(f"{plain(str(error), 300)}{hint}") from None
        try:
            pages = [
                page_of(row.get("title"), row.get("content"), _web_address(row.get("url")))
                for row in reply["results"]
                if isinstance(row, dict)
            ]
        except (TypeError, KeyError):
            raise SearchFailed(f"{self.place}: the reply has no results") from None
        return [page for page in pages if page.text][:k]


def _web_address(url: object) -> str:
    return url if isinstance(url, str) and url.startswith(("http://", "https://")) else ""
