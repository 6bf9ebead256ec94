"""What is known of an argument before any debate: its fields as vectors, and how it reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from touche_rad.debate import Argument
from touche_rad.debaters.grounded.latent import Array, Latent
from touche_rad.debaters.grounded.terms import Lexis, Vector, is_negation, terms
from touche_rad.debaters.grounded.tone import tone
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import words

SAMPLE = 10_000
"""Arguments from which the terms' rarity and the latent space are learnt. A larger collection is
sampled evenly in the index's own order, so that set-up takes seconds at any size."""
DIMENSIONS = 128
REMEMBERED = 20_000
"""Profiles that are kept; when there are more, all are made anew."""


@dataclass(frozen=True, eq=False, slots=True)
class Profile:
    """An argument as the ranking compares it."""

    text: Vector
    attacks: Vector
    topic: Vector
    claim: Vector
    """The claim that people wrote: what is attacked, or what is supported (`original` says)."""
    sign: int
    """1 where that claim is attacked, -1 where it is supported."""
    claim_tone: float
    claim_negated: bool
    latent_text: Array
    latent_attacks: Array
    words: frozenset[str]
    """The terms of the text."""
    matter: tuple[str, str]
    """The pair of opposed claims that it takes sides on, the same for either side."""


class Library:
    """Profiles of arguments, made as they are needed."""

    def __init__(self, sample: Sequence[Argument], seed: int = 0) -> None:
        """Learn from a sample which terms are rare and which belong together."""
        texts = [f"{argument.text} {argument.attacks} {argument.topic}" for argument in sample]
        self.lexis = Lexis(texts)
        self.latent = Latent(texts, self.lexis, DIMENSIONS, seed)
        self._made: dict[str, Profile] = {}

    def profile(self, argument: Argument) -> Profile:
        """Return an argument's profile."""
        found = self._made.get(argument.id)
        if found is None:
            if len(self._made) >= REMEMBERED:
                self._made.clear()
            found = self._made[argument.id] = self._profile(argument)
        return found

    def _profile(self, argument: Argument) -> Profile:
        vector, latent = self.lexis.vector, self.latent.vector
        attacked = argument.original != "supports"
        claim = argument.attacks if attacked else argument.supports
        first, second = sorted((argument.attacks, argument.supports))
        return Profile(
            text=vector(argument.text),
            attacks=vector(argument.attacks),
            topic=vector(argument.topic),
            claim=vector(claim),
            sign=1 if attacked else -1,
            claim_tone=tone(claim),
            claim_negated=negated(claim),
            latent_text=latent(argument.text),
            latent_attacks=latent(f"{argument.attacks} {argument.topic}"),
            words=frozenset(terms(argument.text)),
            matter=(first, second),
        )


def sampled(index: ArgumentIndex) -> list[Argument]:
    """Return at most `SAMPLE` arguments, evenly spread over the index."""
    step = max(1, -(-len(index) // SAMPLE))
    every: Iterable[Argument] = islice(index.arguments(), 0, None, step)
    return list(every)


def negated(text: str) -> bool:
    """Whether a statement is negated an odd number of times."""
    return sum(map(is_negation, words(text))) % 2 == 1
