"""The retriever `stance`: reranks another retriever's hits by their stance to the query."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from retrieval._fusion import ranked, scaled
from retrieval._searching import Searcher
from retrieval.stance.backend import backend
from touche_rad import plugins
from touche_rad.debate import Hit
from touche_rad.errors import OptionError
from touche_rad.plugins import Services


class StanceRetriever(Searcher):
    """Reranks another retriever's arguments: those on the wanted side come first."""

    uses = ("model",)

    class Options(plugins.Options):
        """The options of the retriever."""

        of: str = Field("chained", description="retriever whose hits are reranked")
        by: str = Field(
            "rules", description="rules, nli:MODEL, trained:DIR, model or model:URL#NAME"
        )
        weight: float = Field(0.5, ge=0, description="weight of stance; the best hit's score is 1")
        side: Literal["against", "for"] = Field("against", description="wanted side")
        top: int = Field(30, ge=1, le=1000, description="number of hits that are reranked")

    def __init__(self, options: Any, services: Services) -> None:
        super().__init__(options, services)
        if options.of == "stance":
            raise OptionError("retriever stance: option of=stance: it cannot rerank itself")
        self._first = plugins.find("retriever", options.of).make(services)
        self._backend = backend(options.by, services.model)
        self._sign = 1.0 if options.side == "against" else -1.0

    def search(self, query: str, k: int) -> list[Hit]:
        """Rerank the best hits; the others follow in their order."""
        options = self.options
        hits: list[Hit] = self._first.search(query, max(k, options.top))
        top, rest = hits[: options.top], hits[options.top :]
        stances = self._backend.stances(query, [hit.argument for hit in top])
        reranked = []
        for hit, stance in zip(scaled(top), stances, strict=True):
            score = hit.score + options.weight * self._sign * stance.against
            step = f"same {stance.same:.2f}, opposite {stance.opposite:.2f}"
            reranked.append(hit.model_copy(update={"score": score, "path": (*hit.path, step)}))
        best = ranked(reranked)
        lowest = min((hit.score for hit in best), default=0.0)
        after = [hit.model_copy(update={"score": lowest - at}) for at, hit in enumerate(rest, 1)]
        return [*best, *after][:k]
