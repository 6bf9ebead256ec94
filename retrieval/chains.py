"""Chains: from what the query finds, over shared statements, to who is on the other side of it.

An argument that says what the user says is attacked by another; one that attacks the user's claim
is supported by a third. Each step turns the side or keeps it, so that after any number of steps it
is known whether an argument stands for or against the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, runtime_checkable

from pydantic import Field

from retrieval.fusion import ranked, scaled
from retrieval.index.analyser import tokens
from retrieval.index.statements import NEAR, ROLES, SIGNS
from retrieval.searching import Searcher
from touche_rad import plugins
from touche_rad.debate import Argument, Hit
from touche_rad.plugins import ArgumentIndex, Services

SIBLING: Final = 0.8
"""What a connection over a third's claim is worth beside a direct one."""
_STARTS: Final = (
    ("text", "says like you", 1),
    ("attacks", "attacks your claim", -1),
    ("supports", "supports your claim", 1),
)
_SAID: Final = {
    ("text", "text"): "says the same",
    ("text", "attacks"): "attacks that",
    ("text", "supports"): "supports that",
    ("attacks", "text"): "is attacked by that",
    ("attacks", "attacks"): "attacks the same claim",
    ("attacks", "supports"): "supports what that attacks",
    ("supports", "text"): "is supported by that",
    ("supports", "attacks"): "attacks what that supports",
    ("supports", "supports"): "supports the same claim",
}


@dataclass(frozen=True)
class Link:
    """One argument's connection with another through a statement they share."""

    argument: Argument
    mine: str
    theirs: str
    near: float
    """How alike the two statements are, 0 to 1."""

    @property
    def sign(self) -> int:
        """1 where both are on one side, -1 where they are opposed."""
        return SIGNS[ROLES.index(self.mine)] * SIGNS[ROLES.index(self.theirs)]

    @property
    def weight(self) -> float:
        """1 where one speaks of the other's text, less where both speak of a third's."""
        return 1.0 if "text" in (self.mine, self.theirs) else SIBLING


@runtime_checkable
class LinkedIndex(Protocol):
    """An index that knows which arguments share statements."""

    def links(self, argument_id: str) -> list[Link]:
        """Return the connections of an argument."""
        ...


def alike(one: str, other: str) -> float:
    """Return the share of all words that both texts have."""
    here, there = set(tokens(one)), set(tokens(other))
    return len(here & there) / len(here | there) if here | there else 0.0


def links_of(
    index: ArgumentIndex, arguments: Sequence[Argument], near: float, k: int
) -> list[list[Link]]:
    """Return the connections of each argument, nearest first.

    The index keeps those of nearly equal statements. Looser ones, and all those of an index that
    keeps none (the official one), are searched for: arguments whose claims are like its text.

    Args:
        index: Where the arguments are.
        arguments: Whose connections are wanted.
        near: How alike the statements must be.
        k: Hits of each search that are looked at.
    """
    kept = isinstance(index, LinkedIndex)
    found = [index.links(one.id) if isinstance(index, LinkedIndex) else [] for one in arguments]
    if near < NEAR or not kept:
        texts = [argument.text for argument in arguments]
        for field in ("attacks", "supports"):
            for place, hits in enumerate(index.search_all(field, texts, k)):
                for hit in hits:
                    likeness = alike(getattr(hit.argument, field), texts[place])
                    if hit.argument.id != arguments[place].id:
                        found[place].append(Link(hit.argument, "text", field, likeness))
    return [_nearest(links, near) for links in found]


def _nearest(links: Sequence[Link], near: float) -> list[Link]:
    """The best connection with each argument, direct ones before those over a third's claim."""
    ordered = sorted(
        (link for link in links if link.near >= near),
        key=lambda link: (-link.near * link.weight, link.argument.id),
    )
    best: dict[str, Link] = {}
    for link in ordered:
        best.setdefault(link.argument.id, link)
    return list(best.values())


def _nearer(argument: Argument, query: str) -> str:
    attacked, supported = alike(argument.attacks, query), alike(argument.supports, query)
    return "attacks" if attacked >= supported else "supports"


@dataclass(frozen=True)
class _Reached:
    """An argument that a chain has come to."""

    argument: Argument
    score: float
    sign: int
    path: tuple[str, ...]
    seen: frozenset[str]


class ChainRetriever(Searcher):
    """Arguments against a statement like the query, reached over arguments that share claims."""

    class Options(plugins.Options):
        """How far the chains reach."""

        side: Literal["against", "for"] = Field("against", description="which side is wanted")
        steps: int = Field(2, ge=0, le=4, description="how many links a chain may have")
        first: int = Field(10, ge=1, description="hits of each first search that are followed")
        second: int = Field(5, ge=1, description="links that are followed from each argument")
        near: float = Field(0.5, ge=0, le=1, description="how alike linked statements must be")
        fade: float = Field(0.8, gt=0, le=1, description="what a link leaves of the score")

    def __init__(self, options: Any, services: Services) -> None:
        super().__init__(options, services)
        self._wanted = -1 if options.side == "against" else 1

    def search(self, query: str, k: int) -> list[Hit]:
        """Follow the chains; an argument reached in several ways is where its best one puts it."""
        now = self._starts(query)
        found: list[_Reached] = []
        for _ in range(self.options.steps):
            now = self._further(now)
            found += now
        best: dict[str, _Reached] = {}
        for one in sorted(found, key=lambda one: -one.score):
            best.setdefault(one.argument.id, one)
        hits = [
            Hit(argument=one.argument, score=one.score, path=one.path)
            for one in best.values()
            if one.sign == self._wanted
        ]
        return ranked(hits)[:k]

    def _starts(self, query: str) -> list[_Reached]:
        """What the query finds. A claim and its negation share their words: the nearer counts."""
        return [
            _Reached(hit.argument, hit.score, sign, (said,), frozenset((hit.argument.id,)))
            for field, said, sign in _STARTS
            for hit in scaled(self.index.search(field, query, self.options.first))
            if field == "text" or _nearer(hit.argument, query) == field
        ]

    def _further(self, reached: Sequence[_Reached]) -> list[_Reached]:
        asked = [one.argument for one in reached]
        linked = links_of(self.index, asked, self.options.near, self.options.second)
        return [
            self._step(one, link)
            for one, links in zip(reached, linked, strict=True)
            for link in [link for link in links if link.argument.id not in one.seen][
                : self.options.second
            ]
        ]

    def _step(self, one: _Reached, link: Link) -> _Reached:
        stood = f"{one.argument.id} {one.path[-1]}: {one.argument.text}"
        return _Reached(
            argument=link.argument,
            score=one.score * link.near * link.weight * self.options.fade,
            sign=one.sign * link.sign,
            path=(*one.path[:-1], stood, _SAID[link.mine, link.theirs]),
            seen=one.seen | {link.argument.id},
        )
