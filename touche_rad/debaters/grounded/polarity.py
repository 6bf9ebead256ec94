"""Whether a message says what a claim says, and with the same polarity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from touche_rad.evidence.words import lexicon, negated_words, read_passage
from touche_rad.text import sentences

SAME: Final = 0.6
"""Share of common content words (Dice) from which a sentence is about the same as a claim."""
_CONCESSION: Final = re.compile(
    r"(?:while|whilst|although|though|even (?:if|though)|despite|granted|admittedly)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=32_768)
def content(text: str) -> Mapping[str, bool]:
    """Return the stems of the content words, each with whether it is negated.

    Words of debating itself, such as "believe", are left out.
    """
    tokens, known = read_passage(text).tokens, lexicon()
    flags = zip(tokens, negated_words(tokens), strict=True)
    return {
        token.stem: negated
        for token, negated in flags
        if token.matters
        and token.word not in known.negators
        and known.sense(token.stem) not in known.generic
    }


def agreement(message: str, claim: str) -> float:
    """Return 0 if no sentence of a message is about the same as a claim.

    Otherwise the result is the similarity of that sentence (`SAME` to 1), negative if the sentence
    denies the claim. A sentence that begins with a concession is not compared. A better measure of
    polarity can replace this function: everything else only uses its sign and size.
    """
    said = content(claim)
    return max((_compared(one, said) for one in _asserted(message)), key=abs, default=0.0)


@lru_cache(maxsize=64)
def _asserted(message: str) -> tuple[Mapping[str, bool], ...]:
    """Return the content of the sentences that concede nothing; one answer asks many times."""
    return tuple(content(one) for one in sentences(message) if not _CONCESSION.match(one))


def _compared(said: Mapping[str, bool], claim: Mapping[str, bool]) -> float:
    shared = said.keys() & claim.keys()
    size = len(said) + len(claim)
    similarity = 2 * len(shared) / size if size else 0.0
    if similarity < SAME:
        return 0.0
    negations = [word for word in shared if said[word] or claim[word]]
    turned = sum(said[word] != claim[word] for word in negations)
    return -similarity if 2 * turned > len(negations) else similarity
