"""Stance by rules: how the words of a text fall on the two claims of an argument.

An argument attacks one claim and supports its negation. Most words of the two are the same and say
only that the matter is the same; the few that differ, and the negations, say which of the two a
text speaks like. That is little evidence (docs/retrieval.md has the figures: hardly above chance),
so the probabilities stay near one half.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from retrieval.index.analyser import tokens
from retrieval.stance.contract import Stance
from touche_rad.debate import Argument
from touche_rad.text import words

_DIFFERENT, _NEGATION, _CLOSER = 0.3, 0.15, 0.6
"""What a word that only one claim has, an equal negation and the nearer claim weigh (log odds)."""
_ENOUGH: Final = 0.25
"""The share of a claim's words that makes a text speak of its matter for sure."""
_NEGATIONS: Final = frozenset(
    "not no never none nothing neither nor nobody cannot without hardly".split()
)
_OPPOSED: Final = tuple(
    frozenset(tokens(pair))
    for pair in (
        "good bad", "better worse", "more less", "increase decrease", "raise lower", "help harm",
        "benefit cost", "benefit damage", "safe dangerous", "legal illegal", "moral immoral",
        "ethical unethical", "fair unfair", "just unjust", "necessary unnecessary", "right wrong",
        "allow ban", "allow forbid", "legal banned", "support oppose", "positive negative",
        "possible impossible", "effective ineffective", "healthy unhealthy", "likely unlikely",
        "strong weak", "high low", "true false", "always never", "important unimportant",
        "protect threaten", "prevent cause", "reduce increase", "improve worsen", "success failure",
        "easy difficult", "cheap expensive", "freedom oppression", "equal unequal", "win lose",
        "acceptable unacceptable", "reliable unreliable", "keep abolish", "useful useless",
    )
)  # fmt: skip


class Rules:
    """Negations, opposed words, and the words that differ between an argument's two claims."""

    def stances(self, pairs: Sequence[tuple[str, Argument]]) -> list[Stance]:
        """Return the stance of each argument to the text it is paired with."""
        return [_stance(text, argument) for text, argument in pairs]


def _stance(text: str, argument: Argument) -> Stance:
    said = frozenset(tokens(text))
    attacked, supported = frozenset(tokens(argument.attacks)), frozenset(tokens(argument.supports))
    matter = attacked | supported | frozenset(tokens(argument.text))
    claims = attacked | supported
    shared = max(
        len(said & matter) / max(1, min(len(said), len(matter))),
        len(said & claims) / max(1, len(claims)),
    )
    related = min(1.0, shared / _ENOUGH)
    odds = _odds(text, said, argument, attacked, supported)
    against = 1 / (1 + math.exp(-odds))
    return Stance(related * (1 - against), related * against, 1 - related)


def _odds(
    text: str, said: frozenset[str], argument: Argument,
    attacked: frozenset[str], supported: frozenset[str],
) -> float:  # fmt: skip
    """The log odds that the text speaks like the attacked claim rather than the supported one."""
    if not attacked or not supported:
        return 0.0
    odds = _DIFFERENT * (_spoken(said, attacked - supported) - _spoken(said, supported - attacked))
    if _negated(argument.attacks) != _negated(argument.supports):
        odds += _NEGATION * (1 if _negated(text) == _negated(argument.attacks) else -1)
    return odds + _CLOSER * (_alike(said, attacked) - _alike(said, supported))


def _spoken(said: frozenset[str], own: frozenset[str]) -> float:
    """How many of a claim's own words a text has, less those it has the opposite of."""
    has = len(said & own)
    opposed = sum(1 for pair in _OPPOSED if pair & own and (pair - own) & said)
    return (has - opposed) / math.sqrt(len(own) + 1)


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _negated(text: str) -> bool:
    negations = sum(word in _NEGATIONS or word.endswith("n't") for word in words(text.lower()))
    return negations % 2 == 1
