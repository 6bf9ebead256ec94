"""Results of web searches as short, clean texts; a failed search raises nothing."""

from __future__ import annotations

import asyncio
import html
import re
import unicodedata
from collections.abc import Sequence
from typing import Final, Protocol

import anyio

from touche_rad.errors import WorkError
from touche_rad.frozen import frozen
from touche_rad.text import clean

LONGEST_TITLE: Final = 200
LONGEST_TEXT: Final = 600
LONGEST_ADDRESS: Final = 300
_READ: Final = 20
"""Before cleaning, this many times the maximum length of a text is read."""
_MARKUP: Final = re.compile(r"<[^<>]*>")


class SearchFailed(WorkError):
    """The search could not be run, or the reply is invalid."""


class WebSearch(Protocol):
    """Searches pages whose content is not trusted."""

    @property
    def place(self) -> str:
        """The source, as shown to users."""

    async def search(self, query: str, k: int) -> list[Page]:
        """Return the best `k` pages, best first, or raise SearchFailed."""


@frozen
class Page:
    """A passage of a page. Make it with `page_of` only, which cleans the texts."""

    title: str
    text: str
    address: str = ""
    """An http address, or a path within the folder."""


def page_of(title: object, text: object, address: object = "") -> Page:
    """Return a page of cleaned texts; what is not a string becomes empty."""
    return Page(
        plain(title, LONGEST_TITLE), plain(text, LONGEST_TEXT), plain(address, LONGEST_ADDRESS)
    )


def plain(text: object, longest: int) -> str:
    """Return one line of limited length, without tags, control characters or hidden characters."""
    if not isinstance(text, str):
        return ""
    bare = html.unescape(_MARKUP.sub(" ", text[: _READ * longest]))
    # What an entity such as &lt; becomes may be a tag, too.
    bare = _MARKUP.sub(" ", bare)
    line = clean("".join(letter for letter in bare if unicodedata.category(letter) != "Cf"))
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


_PARALLEL: Final = 4


@frozen
class WebResults:
    """The pages of each query, and the error message if pages are missing."""

    pages: Sequence[Sequence[Page]]
    fault: str = ""


async def search_all(web: WebSearch, queries: Sequence[str], k: int) -> WebResults:
    """Run each query; after a failure no further query is sent."""
    faults: list[str] = []
    limiter = anyio.Semaphore(_PARALLEL)

    async def search(query: str) -> list[Page]:
        async with limiter:
            if not faults:
                try:
                    return await web.search(query, k)
                except SearchFailed as error:
                    faults.append(str(error))
        return []

    pages = await asyncio.gather(*map(search, queries))
    return WebResults(pages, faults[0] if faults else "")
