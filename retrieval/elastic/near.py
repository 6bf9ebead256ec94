"""What a search by vectors is sent as, and what its scores say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from retrieval.dense.encoders import Vectors

DEEPEST: Final = 10_000
"""How deep the server searches (its index.max_result_window)."""


def nearest(field: str, vector: Vectors, k: int, *, approximate: bool) -> dict[str, Any]:
    """Return the search of the nearest vectors.

    The server's search is approximate; unless that is wanted, it looks at ten times as many.
    """
    breadth = min(DEEPEST, max(100, k * (2 if approximate else 10)))
    return {
        "knn": {
            "field": field, "query_vector": vector.tolist(),
            "k": min(k, DEEPEST), "num_candidates": breadth,
        },
        "size": min(k, DEEPEST), "_source": False, "track_total_hits": False,
    }  # fmt: skip


def likeness(field: str, vector: Vectors, ids: Sequence[str]) -> dict[str, Any]:
    """Return the search of these documents' own cosines.

    As many are wanted as the filter lets through: the server then compares with each of them. It
    needs no scripts, which a server may forbid.
    """
    return {
        "knn": {
            "field": field, "query_vector": vector.tolist(),
            "k": len(ids), "num_candidates": len(ids), "filter": {"ids": {"values": list(ids)}},
        },
        "size": len(ids), "_source": False, "track_total_hits": False,
    }  # fmt: skip


def cosine(score: float) -> float:
    """Return the cosine that the server's score of a vector stands for."""
    return 2 * score - 1
