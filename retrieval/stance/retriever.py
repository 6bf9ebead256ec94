"""The retriever `stance`: another retriever's hits, those on the wanted side first."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from retrieval.fusion import ranked, scaled
from retrieval.retrieving import Searcher
from retrieval.stance.backend import backend
from touche_rad import plugins
from touche_rad.debate import Hit
from touche_rad.errors import OptionError
from touche_rad.plugins import Services


class StanceRetriever(Searcher):
    """Another retriever's arguments, those on the wanted side of the query first."""

    uses = ("model",)

    class Options(plugins.Options):
        """Whose hits, and who decides their side."""

        of: str = Field("chained", description="the retriever whose hits are reranked")
        by: str = Field(
            "rules", description="rules, nli:MODEL, trained:DIR, model or model:URL#NAME"
        )
        weight: float = Field(0.5, ge=0, description="what stance counts beside the hits' scores")
        side: Literal["against", "for"] = Field("against", description="which side is wanted")
        top: int = Field(30, ge=1, le=1000, description="how many hits are judged")

    def __init__(self, options: Any, services: Services) -> None:
        super().__init__(options, services)
        if options.of == "stance":
            raise OptionError("retriever stance: option of='stance': it cannot rerank itself")
        self._first = plugins.find("retriever", options.of).make(services)
        self._backend = backend(options.by, services.model)
        self._sign = 1.0 if options.side == "against" else -1.0

    def search(self, query: str, k: int) -> list[Hit]:
        """Rerank the best hits; the others follow as they were."""
        chosen = self.options
        hits: list[Hit] = self._first.search(query, max(k, chosen.top))
        judged, rest = hits[: chosen.top], hits[chosen.top :]
        stances = self._backend.stances([(query, hit.argument) for hit in judged])
        found = []
        for hit, stance in zip(scaled(judged), stances, strict=True):
            score = hit.score + chosen.weight * self._sign * stance.against
            told = f"same {stance.same:.2f}, opposite {stance.opposite:.2f}"
            found.append(hit.model_copy(update={"score": score, "path": (*hit.path, told)}))
        best = ranked(found)
        lowest = min((hit.score for hit in best), default=0.0)
        after = [
            hit.model_copy(update={"score": lowest - place, "rank": len(best) + place - 1})
            for place, hit in enumerate(rest, 1)
        ]
        return [*best, *after][:k]
