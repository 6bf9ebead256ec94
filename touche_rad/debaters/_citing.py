"""Which arguments an answer uses, so that it cites them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from touche_rad.debate import Argument
from touche_rad.evidence.support import find_support
from touche_rad.evidence.words import read_words
from touche_rad.text import clean, content_words, sentences

NAMED: Final = 0.3
"""Minimum share of a sentence's content words that an argument has, if the model named it."""
UNNAMED: Final = 0.6
"""The same for an argument that the model did not name."""
_FEWEST: Final = 2


def cited(
    content: str, named: Sequence[Argument], candidates: Sequence[Argument], most: int
) -> tuple[Argument, ...]:
    """Return at most `most` arguments that a response uses, in the order of their use.

    If it uses none of those that the model named, all candidates are tried with a higher threshold.
    """
    words = content_words(content)
    used = [one for one in named if _share(content, one) >= NAMED]
    if not used:
        shares = {one.id: _share(content, one) for one in candidates}
        used = [one for one in candidates if shares[one.id] >= UNNAMED]
        used = sorted(used, key=lambda one: (-shares[one.id], _first(words, one, used)))[:most]
    return tuple(sorted(used, key=lambda one: _first(words, one, used))[:most])


def _share(content: str, argument: Argument) -> float:
    """Return the largest share of a sentence's content words that an argument has.

    A sentence that says the contrary of the argument does not count.
    """
    source, own = read_words(clean(argument.text)), set(content_words(argument.text))
    shares = [0.0]
    for sentence in sentences(clean(content)):
        if len(own & set(content_words(sentence))) < _FEWEST:
            continue
        read = read_words(sentence)
        if not find_support(read, source).denies:
            known = sum(read.senses[at] in source.senses for at in read.matter)
            # One of several words may only be the topic.
            known -= known < len(read.matter)
            shares.append(known / max(1, len(read.matter)))
    return max(shares)


def _first(content: Sequence[str], one: Argument, among: Sequence[Argument]) -> int:
    """Return the position of the first word of an argument, preferably one only it has."""
    own = set(content_words(one.text))
    others = {word for other in among if other.id != one.id for word in content_words(other.text)}
    for telling in (own - others, own):
        for place, word in enumerate(content):
            if word in telling:
                return place
    return len(content)
