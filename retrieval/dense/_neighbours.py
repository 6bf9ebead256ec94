"""Exact nearest neighbours of many vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from retrieval.dense.encoders import Vectors

HEAD: Final = 96
LEARNT_FROM: Final = 20_000
FIRST: Final = 256
"""Number of vectors that are compared completely to find the first bound."""
BLOCK: Final = 65_536

Scored = tuple[float, int]
Precision = Literal["float16", "int8"]


def write_vectors(vectors: Any, folder: Path, precision: Precision = "float16") -> None:
    """Write unit vectors so that they can be searched.

    Vectors are rotated. The first numbers (head), which carry most of the length, are stored as
    float32 and bound the score, so that the rest, stored in `precision`, is rarely needed. The
    search over the stored numbers is exact.
    """
    folder.mkdir()
    count, dimension = vectors.shape
    head = min(HEAD, dimension)
    turn = _turn(vectors)
    heads = np.empty((head, count), np.float32)
    rests = np.empty((count, dimension - head), np.int8 if precision == "int8" else np.float16)
    scales = np.zeros(count if precision == "int8" else 0, np.float32)
    lengths = np.empty(count, np.float32)
    for start in range(0, count, BLOCK):
        turned = np.asarray(vectors[start : start + BLOCK], dtype=np.float32) @ turn
        part = slice(start, start + len(turned))
        heads[:, part] = turned[:, :head].T
        rest = turned[:, head:]
        if precision == "int8" and rest.size:
            scales[part] = np.abs(rest).max(axis=1) / 127
            rest = np.round(rest / np.maximum(scales[part], 1e-12)[:, None])
        rests[part] = rest
        stored = rests[part].astype(np.float32)
        if len(scales):
            stored *= scales[part][:, None]
        lengths[part] = np.sqrt(np.einsum("ij,ij->i", stored, stored))
    arrays = {"turn": turn, "heads": heads, "rests": rests, "scales": scales, "lengths": lengths}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def _turn(vectors: Any) -> NDArray[np.float32]:
    """Return the rotation to principal axes, largest first."""
    step = max(1, len(vectors) // LEARNT_FROM)
    sample = np.asarray(vectors[::step], dtype=np.float64)
    _, axes = np.linalg.eigh(sample.T @ sample)
    turned: NDArray[np.float32] = np.ascontiguousarray(axes[:, ::-1], dtype=np.float32)
    return turned


class Neighbours:
    """Memory-mapped vectors."""

    def __init__(self, folder: Path) -> None:
        self._turn = np.load(folder / "turn.npy")
        self._heads: Any = np.load(folder / "heads.npy", mmap_mode="r")
        self._rests: Any = np.load(folder / "rests.npy", mmap_mode="r")
        self._lengths: Any = np.load(folder / "lengths.npy", mmap_mode="r")
        self._scales: Any = np.load(folder / "scales.npy")
        self._cut = len(self._heads)

    def __len__(self) -> int:
        return len(self._lengths)

    def nearest(self, queries: Vectors, k: int) -> list[list[Scored]]:
        """Return the `k` nearest of each query; equal scores are sorted by number."""
        turned = queries @ self._turn if len(queries) else ()
        return [self._nearest(query, min(k, len(self))) for query in turned]

    def products(self, queries: Vectors, numbers: Any) -> Vectors:
        """Return the dot product of each query with each of the numbered vectors."""
        turned = queries @ self._turn
        rests = self._rests[numbers].astype(np.float32)
        if len(self._scales):
            rests *= self._scales[numbers][:, None]
        heads = self._heads[:, numbers]
        products: Vectors = turned[:, : self._cut] @ heads + turned[:, self._cut :] @ rests.T
        return products

    def _nearest(self, query: Any, k: int) -> list[Scored]:
        if k <= 0:
            return []
        rest = query[self._cut :]
        partly = query[: self._cut] @ self._heads
        numbers = _largest(partly, max(FIRST, 4 * k))
        scores = partly[numbers] + self._rest(numbers, rest)
        worst = np.partition(scores, len(scores) - k)[len(scores) - k]
        most = np.multiply(self._lengths, float(np.linalg.norm(rest)), dtype=np.float32)
        most += partly
        # With a margin for rounding: all equal scores must be found.
        numbers = np.flatnonzero(most >= worst - 1e-4)
        scores = partly[numbers] + self._rest(numbers, rest)
        order = np.lexsort((numbers, -scores))[:k]
        return list(zip(scores[order].tolist(), numbers[order].tolist(), strict=True))

    def _rest(self, numbers: Any, rest: Any) -> Any:
        products = self._rests[numbers].astype(np.float32) @ rest
        return products * self._scales[numbers] if len(self._scales) else products


def _largest(values: Any, k: int) -> Any:
    if len(values) <= k:
        return np.arange(len(values))
    return np.sort(np.argpartition(values, len(values) - k)[-k:])
