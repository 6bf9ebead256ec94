"""Approximate neighbours: a navigable graph (HNSW) by usearch, mapped from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from retrieval.dense.encoders import NEEDED, Vectors
from touche_rad.errors import UserError

FILE: Final = "graph.usearch"
LINKS: Final = 32
BREADTH_MADE: Final = 128
BREADTH_SEARCHED: Final = 192
BLOCK: Final = 65_536

Scored = tuple[float, int]


def write_graph(vectors: Any, folder: Path) -> None:
    """Write the graph of vectors of length 1."""
    graph = _usearch()(
        ndim=vectors.shape[1], metric="ip", dtype="f16", connectivity=LINKS,
        expansion_add=BREADTH_MADE, expansion_search=BREADTH_SEARCHED,
    )  # fmt: skip
    for start in range(0, len(vectors), BLOCK):
        part = np.asarray(vectors[start : start + BLOCK], dtype=np.float32)
        # One thread: the same vectors give the same graph.
        graph.add(np.arange(start, start + len(part)), part, threads=1)
    graph.save(str(folder / FILE))


class Graph:
    """An opened graph."""

    def __init__(self, folder: Path) -> None:
        self._graph = _usearch().restore(str(folder / FILE), view=True)
        # The file does not keep it.
        self._graph.expansion_search = BREADTH_SEARCHED

    def nearest(self, queries: Vectors, k: int) -> list[list[Scored]]:
        """Return about the `k` nearest of each query."""
        found = []
        for query in queries:
            near = self._graph.search(query, min(k, len(self._graph)), threads=1)
            pairs = zip(near.distances.tolist(), near.keys.tolist(), strict=True)
            found.append(sorted(((1.0 - far, key) for far, key in pairs), key=_by_score))
        return found


def _by_score(hit: Scored) -> Scored:
    return -hit[0], hit[1]


def _usearch() -> Any:
    try:
        from usearch.index import Index
    except ImportError:
        raise UserError(f"a graph of vectors needs usearch: {NEEDED}") from None
    return Index
