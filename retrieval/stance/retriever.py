"""The retriever `stance`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat

from retrieval._fusion import scaled
from retrieval.rerank import Reranking
from retrieval.stance.backend import NAMES, backend
from touche_rad import plugins
from touche_rad.debate import Hit
from touche_rad.plugins import Services
from touche_rad.records import UpTo1000


class StanceRetriever(Reranking):
    """Reranks another retriever's arguments: those on the wanted side come first."""

    uses = ("model",)

    class Options(plugins.Options):
        """The options of the retriever."""

        of: plugins.RetrieverName = "hybrid"
        """retriever whose hits are reranked"""
        by: Annotated[str, plugins.MayNameFile(after="nli:")] = Field(
            "model", description=", ".join(NAMES)
        )
        weight: NonNegativeFloat = 0.5
        """weight of stance; the best hit's score is 1"""
        side: Literal["against", "for"] = "against"
        """wanted side"""
        top: UpTo1000 = 30
        """number of hits that are reranked"""

    def __init__(self, options: Any, services: Services) -> None:
        super().__init__(options, services)
        self._backend = backend(options.by, services.model)
        self._sign = 1.0 if options.side == "against" else -1.0

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Add the stance to the scores."""
        stances = self._backend.stances(query, [hit.argument for hit in hits])
        reranked = []
        for hit, stance in zip(scaled(hits), stances, strict=True):
            score = hit.score + self.options.weight * self._sign * stance.against
            step = f"same {stance.same:.2f}, opposite {stance.opposite:.2f}"
            reranked.append(hit.replace(score=score, path=(*hit.path, step)))
        return reranked
