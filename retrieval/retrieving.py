"""What every retriever of ours has."""

from __future__ import annotations

from typing import Any

from retrieval.searching import Searching
from touche_rad.debate import Hit
from touche_rad.plugins import Services


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
