"""The retrievers: each finds arguments for a query; its pipeline is a PyTerrier transformer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from retrieval.analyser import tokens
from retrieval.fusion import best_of, reciprocal_rank, scaled
from retrieval.searching import Searching
from touche_rad.debate import Hit
from touche_rad.plugins import Options, Services


class Searcher:
    """Base: whatever can search one query can be a transformer."""

    needs: tuple[str, ...] = ("index",)

    def __init__(self, options: Any, services: Services) -> None:
        self.options = options
        self.index = services.need_index(type(self).__name__)

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the best `k` hits, best first."""
        raise TypeError(f"{type(self).__name__} searches nothing")

    def pipeline(self, k: int = 100) -> Searching:
        """Return this search as a PyTerrier transformer."""
        return Searching(self, k)


class _FieldRetriever(Searcher):
    field = "text"

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the best `k` hits by the field."""
        return self.index.search(self.field, query, k)


class TextRetriever(_FieldRetriever):
    """Arguments that say something like the query, on whatever side."""


class AttackRetriever(_FieldRetriever):
    """Arguments against a claim like the query (the attacks field)."""

    field = "attacks"


class SupportRetriever(_FieldRetriever):
    """Arguments for a claim like the query (the supports field)."""

    field = "supports"


class ChainRetriever(Searcher):
    """Arguments that attack a statement like the query, or support one that attacks it."""

    class Options(Options):
        """How far the chains reach."""

        first: int = Field(10, ge=1, description="Hits of the first step that are followed.")
        second: int = Field(5, ge=1, description="Arguments taken from each of them.")
        near: float = Field(
            0.5,
            ge=0,
            le=1,
            description="How alike a claim and a text must be.",
        )

    def search(self, query: str, k: int) -> list[Hit]:
        """Follow both kinds of chain; a hit's score is the first step's share times likeness."""
        said = self.index.search("text", query, self.options.first)
        against = self.index.search("attacks", query, self.options.first)
        found = [
            *self._follow(scaled(said), "attacks", "says like you", "attacks that"),
            *self._follow(scaled(against), "supports", "attacks your claim", "supports that"),
        ]
        return best_of(found)[:k]

    def _follow(self, hits: Sequence[Hit], field: str, first: str, second: str) -> list[Hit]:
        texts = [hit.argument.text for hit in hits]
        reached = self.index.search_all(field, texts, self.options.second)
        found = []
        for start, ends in zip(hits, reached, strict=True):
            path = (f"{start.argument.id} {first}: {start.argument.text}", second)
            for end in ends:
                near = alike(getattr(end.argument, field), start.argument.text)
                if near >= self.options.near and end.argument.id != start.argument.id:
                    update = {"score": start.score * near, "path": path}
                    found.append(end.model_copy(update=update))
        return found


def alike(one: str, other: str) -> float:
    """Return the share of all words that both texts have."""
    here, there = set(tokens(one)), set(tokens(other))
    return len(here & there) / len(here | there) if here | there else 0.0


class HybridRetriever(Searcher):
    """Attack and chain hits and the agreement of topics, fused by reciprocal rank."""

    class Options(Options):
        """What the fusion weighs."""

        k: float = Field(5, gt=0, description="The constant of reciprocal rank fusion.")
        depth: int = Field(100, ge=1, description="Hits taken from each search.")
        chain: float = Field(0.2, ge=0, description="The weight of chains.")
        topic: float = Field(0.2, ge=0, description="The weight of topic agreement.")

    def __init__(self, options: Any, services: Services) -> None:
        super().__init__(options, services)
        self._chain = ChainRetriever(ChainRetriever.Options(), services)

    def search(self, query: str, k: int) -> list[Hit]:
        """Fuse the three lists."""
        depth = self.options.depth
        attack = self.index.search("attacks", query, depth)
        text = self.index.search("text", query, depth)
        chain = self._chain.search(query, depth)
        lists = [attack, chain, on_topic(attack, [*attack, *text])]
        weights = [1.0, self.options.chain, self.options.topic]
        return reciprocal_rank(lists, weights, self.options.k)[:k]


def on_topic(hits: Sequence[Hit], evidence: Sequence[Hit]) -> list[Hit]:
    """Order hits by how much of the evidence is about their topic, and as they were within one."""
    weight: defaultdict[str, float] = defaultdict(float)
    for rank, hit in enumerate(evidence, 1):
        weight[hit.argument.topic] += 1 / (10 + rank)
    ordered = sorted(hits, key=lambda hit: -weight[hit.argument.topic])
    return [
        hit.model_copy(update={"score": weight[hit.argument.topic], "rank": rank})
        for rank, hit in enumerate(ordered)
    ]
