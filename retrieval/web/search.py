"""Search results of the web as short, clean texts; failed searches cost only their evidence."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import anyio

from touche_rad.errors import WorkError
from touche_rad.text import clean

LONGEST_TITLE: Final = 200
LONGEST_TEXT: Final = 600
LONGEST_ADDRESS: Final = 300
_READ: Final = 20
"""How many times its bound of a text is looked at; marks and blanks in it go."""
_MARKUP: Final = re.compile(r"<[^<>]*>")


class SearchFailed(WorkError):
    """A search that could not be made: nobody answers, or what came is no answer."""


class WebSearch(Protocol):
    """Searches pages that nobody here has checked."""

    @property
    def place(self) -> str:
        """What is searched, for a person."""
        ...

    async def search(self, query: str, k: int) -> list[Page]:
        """Return the best `k` pages, best first.

        Raises:
            SearchFailed: There is no answer.
        """
        ...


@dataclass(frozen=True)
class Page:
    """A passage of a page. It is made of a stranger's text by `page_of`, and by nothing else."""

    title: str
    text: str
    address: str = ""
    """Where it stands: an http address, or a path within the folder."""


def page_of(title: Any, text: Any, address: Any = "") -> Page:
    """Return a page of what a server or a file says, whatever that is."""
    return Page(
        plain(title, LONGEST_TITLE), plain(text, LONGEST_TEXT), plain(address, LONGEST_ADDRESS)
    )


def plain(text: Any, longest: int) -> str:
    """Return one bounded line of a text without tags, control characters or hidden ones."""
    if not isinstance(text, str):
        return ""
    bare = html.unescape(_MARKUP.sub(" ", text[: _READ * longest]))
    shown = "".join(one for one in _MARKUP.sub(" ", bare) if unicodedata.category(one) != "Cf")
    line = clean(shown)
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


AT_ONCE: Final = 4


@dataclass(frozen=True)
class Searched:
    """The pages of each query, and why some are missing."""

    pages: tuple[tuple[Page, ...], ...]
    fault: str = ""


async def searched(web: WebSearch, queries: Sequence[str], k: int) -> Searched:
    """Search for each query; after a failure nothing more is asked of a server that is in need."""
    found: dict[int, tuple[Page, ...]] = {}
    faults: list[str] = []
    room = anyio.Semaphore(AT_ONCE)

    async def one(place: int, query: str) -> None:
        async with room:
            if faults:
                return
            try:
                found[place] = tuple(await web.search(query, k))
            except SearchFailed as error:
                faults.append(str(error))

    async with anyio.create_task_group() as group:
        for place, query in enumerate(queries):
            group.start_soon(one, place, query)
    pages = tuple(found.get(place, ()) for place in range(len(queries)))
    return Searched(pages, faults[0] if faults else "")
