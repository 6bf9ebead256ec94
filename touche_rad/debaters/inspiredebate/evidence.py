"""What retrieval brings to a turn: arguments of the index and, where asked for, pages of the web.

Both are untrusted text. Only an argument of the index can be cited; a page has no id there.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Final, Literal, Protocol

import anyio

from touche_rad.debate import Argument
from touche_rad.errors import OptionError, ToucheRadError, nearest
from touche_rad.models import ModelError
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, words

log = logging.getLogger("touche_rad")

Page = tuple[str, str, str]
"""A page of the web: its title, its text, its address."""
Field = Literal["text", "attacks", "supports", "all"]
WEB: Final = "touche_rad.web"
"""The entry points of web searches: each is called with the place after its name."""
LONGEST: Final = 1_200
"""Letters of one piece of evidence that are shown."""


class WebSearch(Protocol):
    """Whatever finds pages. `search` may be `def` or `async def`."""

    def search(self, query: str, k: int) -> Sequence[Page] | Awaitable[Sequence[Page]]:
        """Return the best `k` pages, best first."""
        ...


@dataclass(frozen=True)
class Evidence:
    """One piece of evidence."""

    text: str
    title: str = ""
    url: str = ""
    argument: Argument | None = None
    """The argument of the index that it is, if it is one."""


def web_search(said: str) -> WebSearch | None:
    """Return the web search that the option names (NAME or NAME:PLACE); nothing named is none."""
    if not said:
        return None
    name, _, place = said.partition(":")
    known = {point.name: point for point in entry_points(group=WEB)}
    if name not in known:
        raise OptionError(f"there is no web search {name!r}{nearest(name, known)}")
    made: WebSearch = known[name].load()(place)
    return made


def arguments_for(
    index: ArgumentIndex, asked: Sequence[str], field: Field, k: int, *, without: frozenset[str]
) -> list[Evidence]:
    """Return each query's best arguments, the first of each first; what is left out is replaced."""
    spare = k + len(without)
    found: dict[str, Argument] = {}
    hits = [
        [hit.argument for hit in one if hit.argument.id not in without][:k]
        for one in index.search_all(field, list(asked), spare)
    ]
    for rank in range(k):
        for one in hits:
            for argument in one[rank : rank + 1]:
                found.setdefault(argument.id, argument)
    return [of_argument(argument) for argument in found.values()]


def of_argument(argument: Argument) -> Evidence:
    """Return an argument as evidence."""
    return Evidence(clean(argument.text)[:LONGEST], clean(argument.topic), argument=argument)


async def pages_for(web: WebSearch, asked: Sequence[str], k: int) -> list[Evidence]:
    """Return the pages of each query, each address once; a search that fails brings nothing."""
    found: dict[str, Evidence] = {}
    for query in asked:
        for title, text, url in await _searched(web, query, k):
            if words(text):
                page = Evidence(clean(text)[:LONGEST], clean(title)[:200], clean(url)[:500])
                found.setdefault(page.url or page.text, page)
    return list(found.values())


async def _searched(web: WebSearch, query: str, k: int) -> list[Page]:
    """Search off the event loop; whatever a stranger's search raises is no fault of the turn."""
    try:
        given: Any = await anyio.to_thread.run_sync(web.search, query, k, abandon_on_cancel=True)
        if inspect.isawaitable(given):
            given = await given
        return [(str(title), str(text), str(url)) for title, text, url in list(given)[:k]]
    except (ToucheRadError, ModelError, OSError, ValueError, TypeError, RuntimeError) as error:
        log.warning("the web search gave nothing for %r: %s", query[:80], error)
        return []
