"""What retrieval brings to a turn: arguments of the index and, where asked for, pages of the web.

Both are untrusted text. Only an argument of the index can be cited; a page has no id there.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import anyio

from touche_rad.debate import Argument
from touche_rad.errors import ToucheRadError
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, words

log = logging.getLogger("touche_rad")

Field = Literal["text", "attacks", "supports", "all"]
LONGEST: Final = 1_200
"""Letters of one piece of evidence that are shown."""
LONGEST_TITLE, LONGEST_URL = 200, 300


class WebSearch(Protocol):
    """Whatever finds pages: (title, text, address), or objects of these fields.

    `search` may be `def` or `async def`.
    """

    def search(self, query: str, k: int) -> Any:
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
    """Return the pages of each query, each address once; a search that fails ends the searching."""
    found: dict[str, Evidence] = {}
    for query in asked:
        try:
            pages = await _searched(web, query, k)
        except (ToucheRadError, OSError, ValueError, TypeError, AttributeError) as error:
            log.warning("the web search gave nothing for %r: %s", query[:80], error)
            break
        for page in pages:
            if words(page.text):
                found.setdefault(page.url or page.text, page)
    return list(found.values())


async def _searched(web: WebSearch, query: str, k: int) -> list[Evidence]:
    """Search off the event loop, and read what a stranger's search gives."""
    given = await anyio.to_thread.run_sync(web.search, query, k, abandon_on_cancel=True)
    if inspect.isawaitable(given):
        given = await given
    return [_page(one) for one in list(given)[:k]]


def _page(one: Any) -> Evidence:
    title, text, url = one if isinstance(one, tuple) else (one.title, one.text, one.address)
    return Evidence(
        clean(str(text))[:LONGEST], clean(str(title))[:LONGEST_TITLE], clean(str(url))[:LONGEST_URL]
    )
