"""Latent meaning: terms that stand in the same arguments come near each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from touche_rad.debaters.grounded.terms import Lexis, terms

Array = npt.NDArray[np.float32]


class Latent:
    """A truncated singular value decomposition of a sample of texts; any text is folded into it.

    Only the map from terms to dimensions is kept, so its size does not grow with the collection.
    """

    def __init__(self, texts: Sequence[str], lexis: Lexis, dimensions: int, seed: int = 0) -> None:
        """Decompose the texts, each of which should tell of one matter.

        Args:
            texts: The sample.
            lexis: What each term weighs.
            dimensions: How many dimensions are kept at most.
            seed: For the random projection that the decomposition starts from.
        """
        self._lexis = lexis
        kept = sorted(term for term, count in lexis.held.items() if count > 1)
        self._place = {term: place for place, term in enumerate(kept)}
        self._weight = np.array([lexis.rarity(term) for term in kept], dtype=np.float32)
        self._map = _decomposed(self._rows(texts), dimensions, seed)

    def vector(self, text: str) -> Array:
        """Return a text's place, of length 1, or the origin where no term is known."""
        places = [self._place[term] for term in terms(text) if term in self._place]
        if not places or not self._map.shape[1]:
            return np.zeros(self._map.shape[1], dtype=np.float32)
        found: Array = self._weight[places] @ self._map[places]
        length = float(np.linalg.norm(found))
        return found / length if length > 1e-6 else np.zeros_like(found)

    def _rows(self, texts: Sequence[str]) -> csr_matrix:
        columns: list[int] = []
        ends = [0]
        for text in texts:
            columns.extend(self._place[term] for term in terms(text) if term in self._place)
            ends.append(len(columns))
        values = self._weight[columns] if columns else np.zeros(0, dtype=np.float32)
        shape = (len(texts), len(self._place))
        rows = csr_matrix((values, np.array(columns, dtype=np.int32), ends), shape=shape)
        rows.sum_duplicates()
        lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
        rows.data /= np.repeat(np.maximum(lengths, 1e-6), np.diff(rows.indptr))
        return rows


def _decomposed(rows: csr_matrix, dimensions: int, seed: int) -> Array:
    """The right singular vectors, by random projection and two power steps."""
    dimensions = max(0, min(dimensions, min(rows.shape) - 1))
    if not dimensions:
        return np.zeros((rows.shape[1], 0), dtype=np.float32)
    random = np.random.default_rng(seed)
    width = min(dimensions + 10, min(rows.shape))
    basis = rows @ random.standard_normal((rows.shape[1], width), dtype=np.float32)
    for _ in range(2):
        basis = rows @ (rows.T @ _orthogonal(basis))
    right = _orthogonal(rows.T @ _orthogonal(basis))[:, :dimensions]
    return np.ascontiguousarray(_signed(right.T).T, dtype=np.float32)


def _orthogonal(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The left singular vectors, greatest first, by way of the small matrix of inner products."""
    values, turned = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
    kept = values > max(float(values[-1]), 1e-12) * 1e-7
    scaled = (turned[:, kept] / np.sqrt(values[kept]))[:, ::-1]
    found: npt.NDArray[np.float32] = vectors @ scaled.astype(np.float32)
    return found


def _signed(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Give each vector the sign that makes its greatest part positive, so that runs agree."""
    greatest = np.abs(vectors).argmax(axis=1)
    signs: npt.NDArray[np.float32] = np.sign(vectors[np.arange(len(vectors)), greatest])
    return vectors * signs[:, None]
