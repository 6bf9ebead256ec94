"""Chains: follow shared statements from the query's hits to arguments for or against the query.

An argument that says what the user says is attacked by another one; an argument that attacks the
user's claim is supported by a third. Each step keeps or changes the side, so the side of an
argument is known after any number of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Final, Literal

from pydantic import Field, PositiveInt

from retrieval._fusion import ranked, scaled
from retrieval._links import HasLinks, Link, alike, link_between
from retrieval._searching import Searcher
from retrieval.index.statements import NEAR
from touche_rad import plugins
from touche_rad.debate import Argument, Hit
from touche_rad.frozen import frozen
from touche_rad.lists import unique
from touche_rad.plugins import ArgumentIndex, storage_of
from touche_rad.records import Share
from touche_rad.text import packaged_table

_STARTS: Final = (
    ("text", "says the same as you", 1),
    ("attacks", "attacks your claim", -1),
    ("supports", "supports your claim", 1),
)
"""The first searches: the field, what its hits do, and whether they are on the user's side."""
_STEPS: Final = packaged_table(__package__, "steps.toml")
"""What the next argument does, by the roles of the statement that both share."""


def links_of(
    index: ArgumentIndex, arguments: Sequence[Argument], near: float, k: int
) -> list[list[Link]]:
    """Return the links of each argument, most similar first.

    The index stores links between nearly equal statements. Weaker links, and all links if the index
    stores none (the official one), are searched: arguments whose claims resemble the text.
    """
    storage: object = storage_of(index)
    find_links = storage.links if isinstance(storage, HasLinks) else None
    all_links: list[list[Link]] = [
        find_links(argument.id) if find_links else [] for argument in arguments
    ]
    if near < NEAR or not find_links:
        texts = [argument.text for argument in arguments]
        for field in ("attacks", "supports"):
            results = index.search_all(field, texts, k)
            for argument, links, hits in zip(arguments, all_links, results, strict=True):
                for hit in hits:
                    if hit.argument.id != argument.id:
                        links.append(link_between(argument, "text", hit.argument, field))
    return [_nearest(links, near) for links in all_links]


def _nearest(links: Sequence[Link], near: float) -> list[Link]:
    """Return the links that are near enough, best first, and only the best to each argument."""
    ordered = sorted(
        (link for link in links if link.near >= near),
        key=lambda link: (-link.near * link.weight, link.argument.id),
    )
    return unique(ordered, key=attrgetter("argument.id"))


def _nearer_claim(argument: Argument, query: str) -> str:
    attacks = alike(argument.attacks, query)
    return "attacks" if attacks >= alike(argument.supports, query) else "supports"


@frozen
class _Chain:
    """Arguments that are linked one after the other."""

    argument: Argument
    """The last argument."""
    score: float
    sign: int
    """Its side: 1 is the user's, -1 the other."""
    path: tuple[str, ...]
    """What each argument says, and what it does to the next."""
    seen: frozenset[str]
    """The ids of its arguments."""


class ChainRetriever(Searcher):
    """Follows shared claims to arguments against the query, over one or more steps."""

    class Options(plugins.Options):
        """The options of the retriever."""

        side: Literal["against", "for"] = "against"
        """wanted side"""
        steps: Annotated[int, Field(ge=0, le=4)] = 2
        """maximum number of links of a chain"""
        first: PositiveInt = 10
        """hits of each first search to follow"""
        second: PositiveInt = 5
        """links to follow from each argument"""
        near: Share = 0.5
        """minimum similarity of linked statements"""

    def search(self, query: str, k: int) -> list[Hit]:
        """Follow the chains; the best chain to an argument gives its score."""
        options = self.options
        # Begin at the hits of the query; of an argument's two claims only the more similar counts.
        ends: list[_Chain] = []
        for field, label, sign in _STARTS:
            for hit in scaled(self.index.search(field, query, options.first)):
                argument = hit.argument
                if field == "text" or _nearer_claim(argument, query) == field:
                    ends.append(
                        _Chain(argument, hit.score, sign, (label,), frozenset((argument.id,)))
                    )

        # Follow the links from the ends of the chains, never back to an argument of the same chain.
        chains: list[_Chain] = []
        for _ in range(options.steps):
            arguments = [chain.argument for chain in ends]
            all_links = links_of(self.index, arguments, options.near, options.second)
            longer: list[_Chain] = []
            for chain, links in zip(ends, all_links, strict=True):
                unseen = [link for link in links if link.argument.id not in chain.seen]
                step = f"{chain.argument.id} {chain.path[-1]}: {chain.argument.text}"
                longer += [
                    _Chain(
                        argument=link.argument,
                        score=chain.score * link.near * link.weight * 0.8,  # each link counts less
                        sign=chain.sign * link.sign,
                        path=(*chain.path[:-1], step, _STEPS[link.from_role][link.to_role]),
                        seen=chain.seen | {link.argument.id},
                    )
                    for link in unseen[: options.second]
                ]
            ends = longer
            chains += ends

        wanted_sign = -1 if options.side == "against" else 1
        ordered = sorted(chains, key=lambda chain: -chain.score)
        hits = [
            Hit(argument=chain.argument, score=chain.score, path=chain.path)
            for chain in unique(ordered, key=attrgetter("argument.id"))
            if chain.sign == wanted_sign
        ]
        return ranked(hits)[:k]
