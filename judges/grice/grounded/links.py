"""What links one passage to another: the words of matter that they share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import mul

from touche_rad.evidence.alignment import align
from touche_rad.evidence.support import contrary_pair, coverage
from touche_rad.evidence.words import Passage, lexicon, root

GENERIC = 0.2
"""What a shared word is worth that any two debates share."""
BROAD = 0.4
"""What one is worth that many share."""


def matter(passage: Passage) -> frozenset[str]:
    """The senses of a passage's words of matter; a boxer and boxing are of one."""
    known = lexicon()
    return frozenset(root(known.sense(token.stem)) for token in passage.tokens if token.matters)


def merged(passages: Iterable[Passage]) -> frozenset[str]:
    """The senses of all of them."""
    return frozenset().union(*map(matter, passages))


def weight(senses: Iterable[str]) -> float:
    """How much a set of shared words links."""
    return sum(map(worth, senses))


def worth(sense: str) -> float:
    """How much one shared sense links."""
    known = lexicon()
    if sense in known.generic:
        return GENERIC
    return BROAD if sense in known.broad else 1.0


def link(one: frozenset[str], other: frozenset[str]) -> float:
    """How firmly shared words link two passages, in 0..1: two rare words make about .63."""
    return 1 - math.exp(-weight(one & other) / 2)


def tie(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two passages share for their lengths, in 0..1.

    Long ones share words by chance: two hundred words on any matter share more with two hundred on
    another than twenty with the twenty that they answer.
    """
    sizes = max(1.0, weight(one)) * max(1.0, weight(other))
    return min(1.0, math.sqrt(weight(one & other) / math.sqrt(sizes)))


def echoes(sentences: Sequence[Passage], user: Passage) -> float:
    """How much of what is said the user has said already, in the same sense: 0..1."""
    lengths = [sum(token.matters for token in sentence.tokens) for sentence in sentences]
    heard = [_echoed(sentence, user) for sentence in sentences]
    total = sum(lengths)
    return sum(map(mul, lengths, heard)) / total if total else 0.0


def _echoed(sentence: Passage, user: Passage) -> float:
    covered = coverage(sentence.tokens, user.tokens)
    if covered < 0.5:
        return covered
    aligned = align(sentence.tokens, user.tokens)
    if aligned.turned() or contrary_pair(sentence.tokens, aligned.stretch):
        return 0.0
    known = lexicon()
    ours = sum(token.word in known.negators for token in sentence.tokens)
    theirs = sum(token.word in known.negators for token in aligned.stretch)
    return covered if ours == theirs or ours == 0 else 0.0
