"""Which cited argument supports a sentence: a quotation, most of its words, or none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from touche_rad.text import sentences, stopwords, words

How = Literal["quoted", "near", "none"]
NEAR = 0.6
"""Minimum share of a sentence's content words in one argument for `near`."""
_FRAME = re.compile(r"^[^:,]{1,40}[:,]\s+")
_CACHED = 20_000


@dataclass(frozen=True)
class Supported:
    """A sentence, its support, and the supporting argument (counted from 0)."""

    text: str
    how: How
    argument: int | None = None


class _Words(NamedTuple):
    """The words of a text: as one string, and the content words in order and as a set."""

    joined: str
    """With a space on either side; empty without words."""
    content: tuple[str, ...]
    known: frozenset[str]


@lru_cache(maxsize=_CACHED)
def _words(text: str) -> _Words:
    said, ignored = words(text), stopwords()
    content = tuple(word for word in said if word not in ignored)
    return _Words(f" {' '.join(said)} " if said else "", content, frozenset(content))


@lru_cache(maxsize=_CACHED)
def split(text: str) -> tuple[str, ...]:
    """Return the sentences of an argument; the same one is cited many times."""
    return tuple(sentences(text))


def supported(response: str, arguments: Sequence[str]) -> list[Supported]:
    """Find the support of each sentence in the cited arguments; quotations first."""
    return [_one(sentence, arguments) for sentence in split(response)]


def quoted_sentences(argument: str, quotations: str) -> list[int]:
    """Return the places of an argument's sentences that are in the text of the quotations."""
    said = _words(quotations).joined
    return [
        place
        for place, sentence in enumerate(split(argument))
        if (joined := _words(sentence).joined) and joined in said
    ]


def _one(sentence: str, arguments: Sequence[str]) -> Supported:
    bare = _FRAME.sub("", sentence, count=1)
    for form in (sentence, bare) if bare != sentence else (sentence,):
        said = _words(form).joined
        for number, text in enumerate(arguments):
            if said and said in _words(text).joined:
                return Supported(sentence, "quoted", number)
    content = _words(sentence).content
    best, number = 0.0, 0
    for place, text in enumerate(arguments):
        there = _words(text).known
        share = sum(word in there for word in content) / len(content) if content else 0.0
        if share > best:
            best, number = share, place
    if best >= NEAR:
        return Supported(sentence, "near", number)
    return Supported(sentence, "none")
