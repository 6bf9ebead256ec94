"""The base class of the retrievers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from touche_rad.debate import Hit
from touche_rad.plugins import Services, arguments_by

if TYPE_CHECKING:
    from retrieval._transformer import Searching


class Searcher:
    """Base class of the retrievers: `search` one query, or use `pipeline` in PyTerrier."""

    needs: tuple[str, ...] = ("index",)

    def __init__(self, options: Any, services: Services) -> None:
        self.options = options
        self.index = services.need_index(type(self).__name__)

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the best `k` hits, best first."""
        return self.search_all([query], k)[0]

    def search_all(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Return the best `k` hits of each query; a retriever overrides this or `search`."""
        return [self.search(query, k) for query in queries]

    def hits(self, scores: Sequence[tuple[str, float]], path: tuple[str, ...]) -> list[Hit]:
        """Return the hits with these ids and scores; what the index does not have is left out."""
        arguments = arguments_by(self.index, [argument_id for argument_id, _ in scores])
        return [
            Hit(argument=argument, score=score, rank=rank, path=path)
            for rank, (argument, (_, score)) in enumerate(zip(arguments, scores, strict=True))
            if argument
        ]

    def pipeline(self, k: int = 100) -> Searching:
        """Return this retriever as a PyTerrier transformer."""
        from retrieval._transformer import Searching  # it is slow to import

        return Searching(self, k)
