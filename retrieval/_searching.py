"""The base class of the retrievers, and a retriever as a PyTerrier transformer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd
import pyterrier as pt

from touche_rad.debate import Hit
from touche_rad.plugins import Services, arguments_by

COLUMNS = ("docno", "score", "rank", "path")


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
        return Searching(self, k)


class Searching(pt.Transformer):
    """A retriever as a transformer; the column `path` says how a document was found."""

    def __init__(self, searcher: Searcher, k: int) -> None:
        super().__init__()
        self.searcher = searcher
        self.k = k

    def __repr__(self) -> str:
        return f"{type(self.searcher).__name__}(k={self.k})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Search each query; other columns of the queries are kept."""
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        results = self.searcher.search_all([str(query) for query in inp["query"]], self.k)
        rows: list[dict[Hashable, Any]] = []
        for query, hits in zip(inp.to_dict("records"), results, strict=True):
            for rank, hit in enumerate(hits):
                values = (hit.argument.id, hit.score, rank, hit.path)
                rows.append({**query, **dict(zip(COLUMNS, values, strict=True))})
        others = [column for column in inp.columns if column not in COLUMNS]
        types = {column: inp[column].dtype for column in others}
        # As objects first: not every column type accepts a query with a lone surrogate.
        return pd.DataFrame(rows, columns=[*others, *COLUMNS], dtype=object).astype(
            {**types, "docno": str, "score": float, "rank": int}
        )
