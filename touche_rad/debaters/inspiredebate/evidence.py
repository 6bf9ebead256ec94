"""The evidence of a turn, and which evidence an argument uses."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, Literal, Protocol

import anyio

from touche_rad.debate import Argument
from touche_rad.errors import ToucheRadError
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, content_words, sentences, words

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


_FEWEST: Final = 4
"""So many words in a row, taken over, are no chance."""


def cited(
    content: str, evidence: Sequence[Evidence], *, most: int, alike: float
) -> tuple[Argument, ...]:
    """Return the arguments that a text uses, the first used first.

    A sentence stands on what it quotes, exactly or without regard to case and marks; else on what
    is nearest to it, where that is near enough. What matches nothing is not cited.
    """
    arguments = [one.argument for one in evidence if one.argument is not None]
    found: dict[str, Argument] = {}
    for sentence in sentences(clean(content)):
        for argument in _quoted(sentence, arguments) or _nearest(sentence, arguments, alike):
            found.setdefault(argument.id, argument)
    return tuple(found.values())[:most]


def _quoted(sentence: str, arguments: Sequence[Argument]) -> list[Argument]:
    """Return what a sentence quotes, in the order in which it does."""
    for form in (_exact, _plain):
        places = [(_place(form(sentence), form(one.text)), one) for one in arguments]
        quoted = [(place, one) for place, one in places if place is not None]
        if quoted:
            return [one for _, one in sorted(quoted, key=lambda pair: pair[0])]
    return []


def _place(said: str, text: str) -> int | None:
    """Return where in what is said a text is quoted: the text whole, or a sentence of it."""
    if len(said.split()) >= _FEWEST and said in text:
        return 0
    parts = [part.rstrip(".!? ") for part in (text, *sentences(text))]
    places = [said.find(part) for part in parts if len(part.split()) >= _FEWEST]
    return min((place for place in places if place >= 0), default=None)


def _nearest(sentence: str, arguments: Sequence[Argument], alike: float) -> list[Argument]:
    nearest = max(arguments, key=lambda one: likeness(sentence, one.text), default=None)
    if nearest is None or likeness(sentence, nearest.text) < alike:
        return []
    return [nearest]


def likeness(sentence: str, text: str) -> float:
    """Return how near a sentence is to a text, 0 to 1.

    The larger of two: the share of its words of matter that the text has, and the likeness of the
    letters of both. Too few words tell nothing.
    """
    said = content_words(sentence)
    if len(said) < 2:
        return 0.0
    held = set(content_words(text))
    share = sum(word in held for word in said) / len(said)
    plain, other = _plain(sentence)[:1_000], _plain(text)[:1_000]
    return max(share, SequenceMatcher(None, plain, other, autojunk=False).ratio())


def _exact(text: str) -> str:
    return clean(text).rstrip(".!? ")


def _plain(text: str) -> str:
    kept = (letter if letter.isalnum() else " " for letter in clean(text).lower())
    return " ".join("".join(kept).split())
