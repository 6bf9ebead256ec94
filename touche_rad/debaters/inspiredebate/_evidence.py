"""The evidence of a turn."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Final, Literal

from retrieval.web.search import WebSearch, search_all
from touche_rad.debate import Argument, Debate
from touche_rad.evidence.quotable import missing_context
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, words
from touche_rad.users.arguments import stance

log = logging.getLogger("touche_rad")

Field = Literal["text", "attacks", "supports", "all"]
MAX_TEXT: Final = 1_200


@dataclass(frozen=True)
class Evidence:
    """One piece of evidence."""

    text: str
    title: str = ""
    url: str = ""
    argument: Argument | None = None
    """The argument, if the evidence is one of the index."""


def arguments_for(
    index: ArgumentIndex, queries: Sequence[tuple[Field, str]], k: int, *, excluded: frozenset[str]
) -> list[Evidence]:
    """Return the best arguments of the queries, by rank, without excluded ones and equal texts.

    Arguments that need another text to be understood are left out if there are others.
    """
    hits = [
        [
            hit.argument
            for hit in index.search(*query, 2 * k + len(excluded))
            if hit.argument.id not in excluded
        ]
        for query in dict.fromkeys(queries)
    ]
    clear = [[one for one in of_query if not missing_context(one.text)] for of_query in hits]
    best: dict[str, Argument] = {}
    for rank in islice(zip_longest(*(clear if any(clear) else hits)), k):
        for argument in rank:
            if argument is not None:
                best.setdefault(clean(argument.text).lower(), argument)
    return [of_argument(argument) for argument in best.values()]


def supports_side(argument: Argument, debate: Debate, topic: str) -> bool:
    """Whether the fields of an argument show that it is on our side; unknown is False."""
    for_topic = stance(argument, topic)
    for_us = for_topic if debate.side == "pro" else -for_topic
    against_message = 0.0
    if clean(debate.last.utterance) != topic:
        against_message = -stance(argument, clean(debate.last.utterance))
    return for_us > -_MIN_STANCE and max(for_us, against_message) >= _MIN_STANCE


_MIN_STANCE: Final = 0.3
"""Minimum stance, by the overlap of words, that counts as known."""


def of_argument(argument: Argument) -> Evidence:
    """Return an argument as evidence."""
    return Evidence(clean(argument.text)[:MAX_TEXT], clean(argument.topic), argument=argument)


async def pages_for(web: WebSearch, queries: Sequence[str], k: int) -> list[Evidence]:
    """Return the pages of the queries, each address once."""
    results = await search_all(web, queries, k)
    if results.fault:
        log.warning("the web search failed: %s", results.fault)
    by_address: dict[str, Evidence] = {}
    for page in (page for pages in results.pages for page in pages):
        evidence = Evidence(page.text, page.title, page.address)
        if words(page.text):
            by_address.setdefault(page.address or page.text, evidence)
    return list(by_address.values())
