"""Step 2.5: six arguments for a query, two by each of three strategies.

TEXT finds by likeness to the idea. ATTACK and SUPPORT find by the fields of those names; the one
that is on the other side from what is wanted is chained: what it finds is not taken itself, but
what attacks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from touche_rad.debate import Argument, reached
from touche_rad.debaters.sinai.queries import FieldToLook, Query
from touche_rad.plugins import ArgumentIndex

Strategy = Literal["TEXT", "ATTACK", "SUPPORT"]
STRATEGIES: tuple[Strategy, ...] = ("TEXT", "ATTACK", "SUPPORT")
FIELDS: Final[Mapping[Strategy, str]] = {"TEXT": "text", "ATTACK": "attacks", "SUPPORT": "supports"}
TOLD: Final[Mapping[Strategy, str]] = {
    "TEXT": "says the like of", "ATTACK": "attacks the like of", "SUPPORT": "supports the like of",
}  # fmt: skip
"""What the path of a citation says of each."""


@dataclass(frozen=True)
class Retrieval:
    """What is searched, and how much of it is taken."""

    strategies: tuple[Strategy, ...] = STRATEGIES
    per_strategy: int = 2
    per_link: int = 1
    """How many attackers are taken of each argument that is chained."""
    turned: bool = True
    """Whether SUPPORT of an idea of the opponent means: find its supports to attack them."""
    fresh: frozenset[str] = frozenset()
    """Arguments that were cited before, which are left out."""
    spare: int = 0
    """How many more hits are looked at, so that what is left out is made up for."""


@dataclass(frozen=True)
class Retrieved:
    """A query's arguments by the strategy that found them."""

    query: Query
    by: Mapping[Strategy, tuple[Argument, ...]] = field(default_factory=dict)

    @property
    def all(self) -> tuple[Argument, ...]:
        """Each argument once, the best of every strategy before the second best of any."""
        found: dict[str, Argument] = {}
        longest = max(map(len, self.by.values()), default=0)
        for rank in range(longest):
            for strategy in STRATEGIES:
                for one in self.by.get(strategy, ())[rank : rank + 1]:
                    found.setdefault(one.id, one)
        return tuple(found.values())


def retrieved(index: ArgumentIndex, query: Query, how: Retrieval) -> Retrieved:
    """Search for one query."""
    goal: FieldToLook = "ATTACK" if how.turned else query.field_to_look
    idea = query.opponent_idea
    found: dict[Strategy, tuple[Argument, ...]] = {}
    seen: set[str] = set(how.fresh)

    def take(field: str, words: str, count: int, path: Sequence[str] = ()) -> list[Argument]:
        hits = index.search(field, words, count + how.spare)
        arguments = [reached(hit.argument, path) for hit in hits]
        if how.spare:
            arguments = [one for one in arguments if one.id not in seen]
        return arguments[:count]

    for strategy in how.strategies:
        field = FIELDS[strategy]
        told = f"{TOLD[strategy]}: {idea}"
        if strategy in ("TEXT", goal):
            taken = take(field, idea, how.per_strategy, (told,))
        else:
            taken = []
            for link in take(field, idea, how.per_strategy):
                path = (f"{link.id} {told}", "attacks the like of what that says")
                attackers = take("attacks", link.text, how.per_link, path)
                taken.extend(attackers)
                seen |= _ids(attackers) if how.spare else set()
        found[strategy] = tuple(taken)
        seen |= _ids(taken) if how.spare else set()
    return Retrieved(query, found)


def _ids(arguments: Iterable[Argument]) -> set[str]:
    return {argument.id for argument in arguments}
