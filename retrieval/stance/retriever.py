"""The stance step of a pipeline and the retriever `stance`."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field

from retrieval.fusion import Reranker, ranked, scaled
from retrieval.searching import Searcher
from retrieval.stance.backend import StanceBackend, backend
from touche_rad import plugins
from touche_rad.debate import Hit
from touche_rad.errors import OptionError
from touche_rad.plugins import ArgumentIndex, Services


class StanceReranker(Reranker):
    """Adds to a document's score (0..1 within its query) how surely it is on the wanted side.

    Columns added: `same`, `opposite` and `unrelated`, the backend's probabilities.
    """

    added = ("same", "opposite", "unrelated")

    def __init__(
        self,
        index: ArgumentIndex,
        by: str | StanceBackend = "rules",
        weight: float = 0.5,
        *,
        side: str = "against",
        top: int = 50,
    ) -> None:
        super().__init__()
        self.index = index
        self.backend = backend(by) if isinstance(by, str) else by
        self.by = by if isinstance(by, str) else type(by).__name__
        self.weight = weight
        self.side = side
        self.top = top

    def __repr__(self) -> str:
        return f"StanceReranker({self.by!r}, weight={self.weight}, side={self.side!r})"

    def _reranked(self, part: Any) -> Any:
        part = part.sort_values("score", ascending=False, kind="stable").head(self.top)
        scores = part["score"].to_numpy(dtype=float)
        spread = float(scores.max() - scores.min()) or 1.0
        found = [self.index.get(docno) for docno in part["docno"]]
        known = [argument for argument in found if argument is not None]
        stances = iter(
            self.backend.stances(list(zip(part["query"], known, strict=False)))
            if len(known) == len(found)
            else []
        )
        rows = [next(stances, None) for _ in found]
        sign = 1.0 if self.side == "against" else -1.0
        against = np.array([row.against if row else 0.0 for row in rows])
        return part.assign(
            score=(scores - scores.min()) / spread + self.weight * sign * against,
            same=[row.same if row else 0.0 for row in rows],
            opposite=[row.opposite if row else 0.0 for row in rows],
            unrelated=[row.unrelated if row else 1.0 for row in rows],
        )


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
