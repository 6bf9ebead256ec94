"""How much of a sentence's matter a source has."""

from __future__ import annotations

from collections.abc import Sequence

from judges.grice.grounded.lexicon import lexicon, root
from judges.grice.grounded.tokens import Token


def coverage(said: Sequence[Token], written: Sequence[Token]) -> float:
    """The share of the sentence's words of matter that the source has, or has a like of."""
    found, matter = _found(said, written)
    return found / matter if matter else 0.0


def evidence(said: Sequence[Token], written: Sequence[Token]) -> float:
    """The same, but where a word is missing one that is found counts for nothing.

    It shows no more than the topic: of `zoos harm animals` two thirds stand in `zoos save animals`.
    """
    found, matter = _found(said, written)
    return 1.0 if matter and found == matter else max(0, found - 1) / max(1, matter)


def _found(said: Sequence[Token], written: Sequence[Token]) -> tuple[int, int]:
    known = lexicon()
    there = {token.stem for token in written}
    senses = {known.sense(one) for one in there}
    matter = [token for token in said if token.matters and token.word not in known.negators]
    found = sum(token.stem in there or known.sense(token.stem) in senses for token in matter)
    return found, len(matter)


def _empty(token: Token) -> bool:
    """Whether a word is one that any sentence may hold without claiming more."""
    known = lexicon()
    return (
        root(known.sense(token.stem)) in known.generic
        and token.word not in known.exaggerators
        and token.word not in known.negators
        and token.word not in known.witnesses
        and not known.counts(token.word)
    )


def unknown(said: Sequence[Token], written: Sequence[Token]) -> list[Token]:
    """The words that weigh and that the source does not have, nor a like of them."""
    known = lexicon()
    there = {token.stem for token in written}
    senses = {known.sense(one) for one in there}
    return [
        token
        for token in said
        if token.word not in known.harmless
        and not _empty(token)
        and token.stem not in there
        and known.sense(token.stem) not in senses
    ]
