"""Searches as PyTerrier transformers, and the base class of the retrievers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from retrieval.index.analyser import known
from touche_rad.debate import Hit
from touche_rad.plugins import ArgumentIndex, Retriever, Services

COLUMNS = ("docno", "score", "rank", "path")
_RANKING = ["score", "rank"]


class FieldSearch(pt.Transformer):
    """BM25 over one field."""

    def __init__(self, index: ArgumentIndex, field: str, k: int) -> None:
        super().__init__()
        self.index = index
        self.field = known(field)
        self.k = k

    def __repr__(self) -> str:
        return f"FieldSearch({self.field!r}, k={self.k})"

    def fuse_rank_cutoff(self, k: int) -> FieldSearch | None:
        """Search only as deep as needed (PyTerrier's `%`)."""
        return FieldSearch(self.index, self.field, k) if k < self.k else None

    def transform(self, inp: Any) -> Any:
        """Search each query; other columns of the queries are kept."""
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        return ranking(inp, self.index.scored(self.field, inp["query"].tolist(), self.k))


def ranking(queries: Any, found: Sequence[Sequence[tuple[str, float]]]) -> Any:
    """Return a PyTerrier result frame: each query with its documents, best first."""
    rows = queries.drop(columns=_RANKING, errors="ignore")
    repeated = np.repeat(np.arange(len(rows)), [len(hits) for hits in found])
    columns = {
        "docno": np.array([docno for hits in found for docno, _ in hits], dtype=object),
        "score": np.array([score for hits in found for _, score in hits], dtype=float),
        "rank": np.array([rank for hits in found for rank in range(len(hits))], dtype=int),
    }
    return rows.iloc[repeated].reset_index(drop=True).assign(**columns)


class Searching(pt.Transformer):
    """A retriever as a transformer; the column `path` says how a document was found."""

    def __init__(self, searcher: Retriever, k: int) -> None:
        super().__init__()
        self.searcher = searcher
        self.k = k

    def __repr__(self) -> str:
        return f"{type(self.searcher).__name__}(k={self.k})"

    def fuse_rank_cutoff(self, k: int) -> Searching | None:
        """Search only as deep as needed (PyTerrier's `%`)."""
        return Searching(self.searcher, k) if k < self.k else None

    def transform(self, inp: Any) -> Any:
        """Search each query; other columns of the queries are kept."""
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        rows = [
            {**row, "docno": hit.argument.id, "score": hit.score, "rank": rank, "path": hit.path}
            for row in inp.to_dict("records")
            for rank, hit in enumerate(self.searcher.search(str(row["query"]), self.k))
        ]
        kept = [column for column in inp.columns if column not in COLUMNS]
        typed = {column: inp[column].dtype for column in kept}
        typed |= {"docno": str, "score": float, "rank": int}
        # As objects first: not every column type accepts a query with a lone surrogate.
        return pd.DataFrame(rows, columns=[*kept, *COLUMNS], dtype=object).astype(typed)


class Searcher:
    """Base class of the retrievers: `search` one query, or use `pipeline` in PyTerrier."""

    needs: tuple[str, ...] = ("index",)

    def __init__(self, options: Any, services: Services) -> None:
        self.options = options
        self.index = services.need_index(type(self).__name__)

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the best `k` hits, best first."""
        raise NotImplementedError

    def pipeline(self, k: int = 100) -> Searching:
        """Return this retriever as a PyTerrier transformer."""
        return Searching(self, k)
