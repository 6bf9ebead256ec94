"""Where a text negates, and what."""

from __future__ import annotations

from collections.abc import Sequence

from judges.grice.grounded.lexicon import lexicon
from judges.grice.grounded.tokens import Token

_SCOPE = 5
"""How many words behind it a negation may find its word of matter, within its clause."""
_LETS_THROUGH = frozenset(("longer", "enough", "able", "allowed", "even", "really"))
"""Words of matter that a negation reaches past: `no longer enough to pay` does not pay."""
_NEGATING_PAIRS = {("rather", "than"), ("instead", "of"), ("anything", "but")}
_SOME = {("a", "few"), ("a", "little"), ("no", "doubt"), ("or", "without"), ("or", "not")}


def negated(tokens: Sequence[Token]) -> list[bool]:
    """For each word of matter, whether an odd number of negations stand right in front of it.

    Function words between do not count: `not to be noticed` negates `noticed`.
    """
    flags: list[bool] = []
    reaching: list[int] = []
    for at, token in enumerate(tokens):
        reaching = [] if token.before else [start for start in reaching if at - start <= _SCOPE]
        negates = _negates(tokens, at)
        flags.append(token.matters and not negates and len(reaching) % 2 == 1)
        if negates:
            reaching.append(at)
        elif token.matters and token.word not in _LETS_THROUGH:
            reaching = []
    return flags


def odd(tokens: Sequence[Token]) -> bool:
    """Whether there is an odd number of negations: one more takes the other back."""
    return sum(_negates(tokens, at) for at in range(len(tokens))) % 2 == 1


def any_negator(*places: Sequence[Token]) -> bool:
    """Whether there is any word that can negate."""
    known = lexicon()
    return any(token.word in known.negators for tokens in places for token in tokens)


def _negates(tokens: Sequence[Token], at: int) -> bool:
    following = tokens[at + 1].word if at + 1 < len(tokens) else ""
    if (tokens[at].word, following) in _NEGATING_PAIRS:
        return True
    if at and (tokens[at - 1].word, tokens[at].word) in _SOME:
        return False
    known = lexicon()
    return tokens[at].word in known.negators and following not in known.not_negated
