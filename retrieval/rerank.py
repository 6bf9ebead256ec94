"""Rerank the hits of another retriever by a reranker on a server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from retrieval._fusion import ranked
from retrieval._searching import Searcher
from retrieval._server import LONGEST, LONGEST_TEXT, ModelServer, is_address
from touche_rad import plugins
from touche_rad.debate import Hit
from touche_rad.errors import OptionError, WorkError
from touche_rad.events import log
from touche_rad.plugins import Services
from touche_rad.records import UpTo1000
from touche_rad.text import clean

AGAINST: Final = "Find an argument that argues against this claim."
RETRY_AFTER: Final = 30.0
"""Seconds after which a model that failed is asked again."""


class Reranking(Searcher):
    """Reranks the best hits of another retriever; the others follow in their order.

    While the model fails, the order stays, and a warning says so once.
    """

    def __init__(self, options: Any, services: Services) -> None:
        super().__init__(options, services)
        self._retriever = plugins.make("retriever", options.of, services)
        self._retry_at = 0.0
        self._warned = False

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits with new scores; raise a WorkError if the model fails."""
        raise NotImplementedError

    def search(self, query: str, k: int) -> list[Hit]:
        """Rerank the best hits."""
        top = self.options.top
        hits = self._retriever.search(query, max(k, top))
        if not hits or time.monotonic() < self._retry_at:
            return hits[:k]
        try:
            best = ranked(self.rerank(query, hits[:top]))
        except WorkError as error:
            self._retry_at = time.monotonic() + RETRY_AFTER
            if not self._warned:
                self._warned = True
                log.warning("hits stay in the order of %s: %s", self.options.of, error)
            return hits[:k]
        lowest = best[-1].score
        rest = [
            hit.replace(score=lowest - at, rank=len(best) + at - 1)
            for at, hit in enumerate(hits[top:], 1)
        ]
        return [*best, *rest][:k]


class RerankRetriever(Reranking):
    """Reranks another retriever's arguments with a reranker, told what to find."""

    class Options(plugins.Options):
        """The options of the retriever."""

        of: plugins.RetrieverName = "hybrid"
        """retriever whose hits are reranked"""
        by: str = ""
        """reranker: URL#MODEL"""
        instruction: str = AGAINST
        """text before the query; empty: none"""
        top: UpTo1000 = 30
        """number of hits that are reranked"""

    def __init__(self, options: Options, services: Services) -> None:
        super().__init__(options, services)
        if not is_address(options.by):
            raise OptionError("retriever rerank: set the option by=URL#MODEL")
        self._reranker = ServedReranker(options.by)

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits with the reranker's scores."""
        question = f"{self.options.instruction} {clean(query)[:LONGEST]}".strip()
        texts = [clean(hit.argument.text)[:LONGEST_TEXT] for hit in hits]
        scores = self._reranker.scores(question, texts)
        return [
            hit.replace(score=score, path=(*hit.path, f"reranked {score:.2f}"))
            for hit, score in zip(hits, scores, strict=True)
        ]


class ServedReranker:
    """A reranker on a server with the route `/rerank` (Jina, Cohere, vLLM) or `/score` (vLLM)."""

    def __init__(self, name: str) -> None:
        self._server = ModelServer(name, "reranker")
        self._address = self._server.find({route: _body(route, "a", ["b"]) for route in _ROUTES})
        self._route = self._address.rpartition("/")[2]

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the score of each text."""
        rows_field, score = _ROUTES[self._route]
        _, scores = self._server.rows(
            self._address,
            _body(self._route, query, texts),
            len(texts),
            score,
            rows_field=rows_field,
        )
        return list(map(float, scores))


_ROUTES: Final = {"rerank": ("results", "relevance_score"), "score": ("data", "score")}
"""The fields of a reply that have its rows, and of a row that has its score."""


def _body(route: str, query: str, texts: Sequence[str]) -> dict[str, Any]:
    if route == "score":
        return {"text_1": query, "text_2": list(texts)}
    return {"query": query, "documents": list(texts), "top_n": len(texts)}
