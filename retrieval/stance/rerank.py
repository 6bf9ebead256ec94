"""The stance step of a pipeline: arguments against the query come up, those for it go down."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrieval.reranking import Reranker
from retrieval.stance.backend import StanceBackend, backend
from touche_rad.plugins import ArgumentIndex


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
