"""A retriever as a PyTerrier transformer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import pandas as pd
import pyterrier as pt

from touche_rad.debate import Hit

COLUMNS = ("docno", "score", "rank", "path")


class SearchesAll(Protocol):
    """A retriever that searches for several queries at once."""

    def search_all(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Return the best `k` hits of each query."""


class Searching(pt.Transformer):
    """A retriever as a transformer; the column `path` says how a document was found."""

    def __init__(self, searcher: SearchesAll, k: int) -> None:
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
