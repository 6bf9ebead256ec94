"""Stance by rules: which of an argument's two claims a text resembles.

An argument attacks one claim and supports its negation. Words that both claims share only show that
the text is on topic; words of one claim only, and negations, show which claim the text resembles.
This is weak evidence (hardly better than chance, see docs/retrieval.md), so the probabilities stay
near one half.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from retrieval.index.analyser import tokens
from retrieval.stance import Stance
from touche_rad.debate import Argument
from touche_rad.text import is_negation, words

Words = frozenset[str]

_DIFFERENT, _NEGATION, _CLOSER = 0.3, 0.15, 0.6
"""Weights (log odds) of a word of one claim only, of equal negation, and of the similar claim."""
_ENOUGH: Final = 0.25
"""A text with this share of a claim's words is certainly on topic."""
_OPPOSED: Final = tuple(
    frozenset(tokens(pair))
    for pair in (
        "good bad, better worse, more less, increase decrease, raise lower, help harm, "
        "benefit cost, benefit damage, safe dangerous, legal illegal, moral immoral, "
        "ethical unethical, fair unfair, just unjust, necessary unnecessary, right wrong, "
        "allow ban, allow forbid, legal banned, support oppose, positive negative, "
        "possible impossible, effective ineffective, healthy unhealthy, likely unlikely, "
        "strong weak, high low, true false, always never, important unimportant, "
        "protect threaten, prevent cause, reduce increase, improve worsen, success failure, "
        "easy difficult, cheap expensive, freedom oppression, equal unequal, win lose, "
        "acceptable unacceptable, reliable unreliable, keep abolish, useful useless"
    ).split(", ")
)


class Rules:
    """Uses negations, opposed words, and the words that differ between an argument's two claims."""

    def stances(self, text: str, arguments: Sequence[Argument]) -> list[Stance]:
        """Return the stance of each argument to the text."""
        return [_stance(text, argument) for argument in arguments]


def _stance(text: str, argument: Argument) -> Stance:
    stems = frozenset(tokens(text))
    attacked, supported = frozenset(tokens(argument.attacks)), frozenset(tokens(argument.supports))
    matter = attacked | supported | frozenset(tokens(argument.text))
    claims = attacked | supported
    shared = max(
        len(stems & matter) / max(1, min(len(stems), len(matter))),
        len(stems & claims) / max(1, len(claims)),
    )
    related = min(1.0, shared / _ENOUGH)
    odds = _odds(text, stems, argument, attacked, supported)
    against = 1 / (1 + math.exp(-odds))
    return Stance(related * (1 - against), related * against, 1 - related)


def _odds(text: str, stems: Words, argument: Argument, attacked: Words, supported: Words) -> float:
    """Return the log odds that the text resembles the attacked claim, not the supported one."""
    if not attacked or not supported:
        return 0.0
    different = _spoken(stems, attacked - supported) - _spoken(stems, supported - attacked)
    odds = _DIFFERENT * different
    if _negated(argument.attacks) != _negated(argument.supports):
        odds += _NEGATION * (1 if _negated(text) == _negated(argument.attacks) else -1)
    return odds + _CLOSER * (_alike(stems, attacked) - _alike(stems, supported))


def _spoken(stems: Words, own: Words) -> float:
    """Count a claim's own words in the text, minus those whose opposite the text contains."""
    has = len(stems & own)
    opposed = sum(1 for pair in _OPPOSED if pair & own and (pair - own) & stems)
    return (has - opposed) / math.sqrt(len(own) + 1)


def _alike(one: Words, other: Words) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _negated(text: str) -> bool:
    return sum(map(is_negation, words(text))) % 2 == 1
