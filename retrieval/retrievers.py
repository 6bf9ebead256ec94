"""The retrievers that need only an index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from retrieval._fusion import best_of, reciprocal_rank, scaled
from retrieval._searching import Searcher
from retrieval.chains import ChainRetriever
from touche_rad.debate import Hit
from touche_rad.lists import unique
from touche_rad.plugins import TOPIC_DEPTH, Services, meaning_of
from touche_rad.plugins import Options as PluginOptions


class _FieldRetriever(Searcher):
    field = "text"

    def search_all(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Return the best `k` hits of each query by the field."""
        return self.index.search_all(self.field, queries, k)


class TextRetriever(_FieldRetriever):
    """Arguments whose text is similar to the query, on any side."""


class AttackRetriever(_FieldRetriever):
    """Arguments against a claim similar to the query (field attacks)."""

    field = "attacks"


class SupportRetriever(_FieldRetriever):
    """Arguments for a claim similar to the query (field supports)."""

    field = "supports"


class _WithChains(Searcher):
    def __init__(self, options: object, services: Services) -> None:
        super().__init__(options, services)
        self._chain = ChainRetriever(ChainRetriever.Options(), services)


class OpposingRetriever(_WithChains):
    """Arguments against a similar claim, then those found by chains, then those on the topic."""

    class Options(PluginOptions):
        """The options of the retriever."""

        lead: NonNegativeInt = 3
        """hits of field attacks before all chains"""

    def search(self, query: str, k: int) -> list[Hit]:
        """Concatenate the lists; the search in all fields fills up what is missing."""
        attack = self.index.search("attacks", query, k)
        about = self.index.search("all", query, k) if len(attack) < k else []
        chain = self._chain.search(query, k)
        lead = self.options.lead
        hits = unique(
            [*attack[:lead], *chain, *attack[lead:], *about], key=attrgetter("argument.id")
        )
        return [hit.replace(score=1 / (rank + 1), rank=rank) for rank, hit in enumerate(hits[:k])]


class HybridRetriever(_WithChains):
    """Fuses the field attacks, vectors if the index has them, chains and topic agreement."""

    class Options(PluginOptions):
        """The options of the retriever."""

        k: PositiveFloat = 10
        """constant of reciprocal rank fusion"""
        depth: PositiveInt = 100
        """number of hits per search"""
        meaning: NonNegativeFloat = 1.0
        """weight of similarity by vectors"""
        chain: NonNegativeFloat = 0.2
        """weight of chains"""
        topic: NonNegativeFloat = 0.2
        """weight of topic agreement"""

    def search(self, query: str, k: int) -> list[Hit]:
        """Fuse the lists; without vectors in the index, similarity is left out."""
        options = self.options
        attack = self.index.search("attacks", query, options.depth)
        text = self.index.search("text", query, options.depth)
        near: list[Hit] = []
        meaning = meaning_of(self.index) if options.meaning else None
        if meaning is not None:
            ids = meaning.nearest("attacks", [query], options.depth)[0]
            scores = [(argument_id, 1 / rank) for rank, argument_id in enumerate(ids, 1)]
            near = self.hits(scores, ("near: attacks",))
        chain = self._chain.search(query, options.depth)
        topic = sort_by_topic(best_of([*scaled(attack), *near]), [*attack, *near, *text])
        weights = [1.0, options.meaning, options.chain, options.topic]
        return reciprocal_rank([attack, near, chain, topic], weights, options.k)[:k]


class TopicalRetriever(Searcher):
    """Arguments that have words of the query in any field, those on its topic first."""

    def search(self, query: str, k: int) -> list[Hit]:
        """Sort the hits by their topics, the best topic first."""
        hits = self.index.search("all", query, max(k, TOPIC_DEPTH))
        return sort_by_topic(hits, self.index.search("topics", query, k))[:k]


def sort_by_topic(hits: Sequence[Hit], evidence: Sequence[Hit]) -> list[Hit]:
    """Sort hits by how many of the evidence hits are about their topic, best ranks first."""
    weight: defaultdict[str, float] = defaultdict(float)
    for rank, hit in enumerate(evidence, 1):
        weight[hit.argument.topic] += 1 / (10 + rank)
    ordered = sorted(hits, key=lambda hit: -weight[hit.argument.topic])
    return [
        hit.replace(score=weight[hit.argument.topic], rank=rank) for rank, hit in enumerate(ordered)
    ]
