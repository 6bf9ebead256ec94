"""The evidence of a turn, and which evidence an argument cites."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, zip_longest
from typing import Final, Literal

from retrieval.web.search import WebSearch, search_all
from touche_rad.debate import Argument, Debate
from touche_rad.evidence.quotable import missing_context
from touche_rad.evidence.support import unsupported_words
from touche_rad.evidence.words import read_passage
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, content_words, sentences, words
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


_MIN_WORDS: Final = 4


def cited(
    content: str, evidence: Sequence[Evidence], *, most: int, min_similarity: float
) -> tuple[Argument, ...]:
    """Return the arguments that a text uses, in the order of their use.

    A sentence uses the arguments that it quotes, or the most similar one if it is similar enough.
    """
    arguments = [one.argument for one in evidence if one.argument is not None]
    used: dict[str, Argument] = {}
    for sentence in sentences(clean(content)):
        quoted = _quoted(sentence, arguments)
        for argument in quoted or _most_similar(sentence, arguments, min_similarity):
            used.setdefault(argument.id, argument)
    return tuple(used.values())[:most]


def _quoted(sentence: str, arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that a sentence quotes, in the order of the quotations."""
    for form in (_exact, _plain):
        places = [(_place(form(sentence), form(one.text)), one) for one in arguments]
        quoted = [(place, one) for place, one in places if place is not None]
        if quoted:
            return [one for _, one in sorted(quoted, key=lambda pair: pair[0])]
    return []


def _place(sentence: str, text: str) -> int | None:
    """Return the position in a sentence where a text, or a sentence of it, is quoted."""
    if len(sentence.split()) >= _MIN_WORDS and sentence in text:
        return 0
    parts = [part.rstrip(".!? ") for part in (text, *sentences(text))]
    places = [sentence.find(part) for part in parts if len(part.split()) >= _MIN_WORDS]
    return min((place for place in places if place >= 0), default=None)


def _most_similar(
    sentence: str, arguments: Sequence[Argument], min_similarity: float
) -> list[Argument]:
    nearest = sorted(arguments, key=lambda one: -similarity(sentence, one.text))[:1]
    return [one for one in nearest if similarity(sentence, one.text) >= min_similarity]


def similarity(sentence: str, text: str) -> float:
    """Return the share of a sentence's content words that a text has, or the share of letters.

    The larger one counts; a sentence with fewer than two content words is similar to nothing.
    """
    own = content_words(sentence)
    if len(own) < 2:
        return 0.0
    other_words = set(content_words(text))
    share = sum(word in other_words for word in own) / len(own)
    plain, other = _plain(sentence)[:1_000], _plain(text)[:1_000]
    return max(share, SequenceMatcher(None, plain, other, autojunk=False).ratio())


def _exact(text: str) -> str:
    return clean(text).rstrip(".!? ")


def _plain(text: str) -> str:
    letters = (letter if letter.isalnum() else " " for letter in clean(text).lower())
    return " ".join("".join(letters).split())


def without_attribution(sentence: str, message: str) -> str:
    """Return a sentence without a first clause that only names what the opponent said.

    "You praise zoos, but cages harm animals." becomes "cages harm animals." if the message praises
    zoos. The result is empty if there is no other clause.
    """
    match = _ATTRIBUTION.match(sentence)
    if match is None:
        return sentence
    clause = read_passage(match["clause"]).tokens
    new_words = unsupported_words(clause, read_passage(clean(message)).tokens)
    new = {token.word for token in new_words}
    return sentence if len(new) > _MAX_NEW else sentence[match.end() :]


_ATTRIBUTION: Final = re.compile(
    r"(?P<clause>(?:You|Your)\b[^,:;.!?]*)(?:[,:;]\s*(?:(?:but|yet|however|still)\b,?\s*)?|[.!?]+$)"
)
_MAX_NEW: Final = 1
"""Words of such a clause that need not be in the message: its verb, such as "claim"."""
