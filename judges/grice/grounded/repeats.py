"""What is said once more, by the system or after the user, and whether it was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import mul

from judges.grice.grounded.alignment import align
from judges.grice.grounded.coverage import coverage
from judges.grice.grounded.frames import starts, unpadded
from judges.grice.grounded.links import echoes
from judges.grice.grounded.tokens import Passage, Token

LOOKED_BACK = 12
"""How many of the system's earlier answers are looked at."""
_ASKS_AGAIN = re.compile(
    r"\b(?:(?:say|tell|explain|repeat|put|state) (?:\w+ ){0,3}(?:again|once more|differently)"
    r"|(?:please|could you|can you|would you) (?:repeat|explain|clarify|sum)|remind me"
    r"|what (?:did|do|were) you (?:say|saying|mean)|run (?:that|it) by me|i (?:have )?forg[oe]t\w*"
    r"|what (?:was|is) (?:that|your (?:point|argument|reason))"
    r"|i (?:did|could|do) not (?:catch|hear|follow|get|understand) (?:that|you|it|what)"
    r"|sorry i was|i was (?:distracted|not listening)|come again|pardon"
    r"|in (?:one|a|a single|plain) (?:sentence|word|words|nutshell)|in short|once more please)\b"
)


def asked_again(user: Passage) -> bool:
    """Whether the user wants to hear again what was said."""
    return bool(_ASKS_AGAIN.search(user.joined))


def said_again(sentences: Sequence[Passage], earlier: Sequence[Passage]) -> float:
    """How much of what is said one earlier answer has said already, in the same sense: 0..1."""
    return max((_said(sentences, answer) for answer in earlier[-LOOKED_BACK:]), default=0.0)


def heard(sentences: Sequence[Passage], own: Sequence[Passage], users: Sequence[Passage]) -> float:
    """How much of what is said the system has said, or the user in the same sense: 0..1."""
    ours = _words(own)
    return _shared(
        sentences,
        [
            max(coverage(one.tokens, ours), *(echoes([one], user) for user in users))
            for one in sentences
        ],
    )


def _words(passages: Sequence[Passage]) -> tuple[Token, ...]:
    return tuple(token for passage in passages for token in passage.tokens)


def _shared(sentences: Sequence[Passage], shares: Sequence[float]) -> float:
    lengths = [sum(token.matters for token in one.tokens) for one in sentences]
    total = sum(lengths)
    return sum(map(mul, lengths, shares)) / total if total else 0.0


def _said(sentences: Sequence[Passage], answer: Passage) -> float:
    matter = [unpadded(one.tokens[starts(one.tokens)[-1] :]) for one in sentences]
    lengths = [sum(token.matters for token in tokens) for tokens in matter]
    total = sum(lengths)
    covered = (
        length * coverage(tokens, answer.tokens)
        for tokens, length in zip(matter, lengths, strict=True)
        if not align(tokens, answer.tokens).turned()
    )
    return sum(covered) / total if total else 0.0
