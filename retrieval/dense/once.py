"""Texts that come in batches, each encoded once however often it comes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import IO

import numpy as np

from retrieval.dense.encoders import Encoder, Vectors
from touche_rad.errors import WorkError


class Once:
    """Encodes passages, and knows those that it has encoded.

    Their vectors lie in a file, so that memory holds only some bytes a text.
    """

    def __init__(self, encoder: Encoder, kept: IO[bytes]) -> None:
        self._encoder = encoder
        self._kept = kept
        self._rows: dict[bytes, int] = {}
        self._dimension = 0

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts; there must be one."""
        keys = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._rows}
        if new:
            self._keep(self._encoder.passages(list(new.values())))
            for key in new:
                self._rows[key] = len(self._rows)
        return np.stack([self._vector(self._rows[key]) for key in keys])

    def _keep(self, made: Vectors) -> None:
        if self._dimension not in (0, made.shape[1]):
            raise WorkError(
                f"encoder {self._encoder.name!r} changed from {self._dimension} numbers"
            )
        self._dimension = made.shape[1]
        self._kept.seek(0, os.SEEK_END)
        self._kept.write(np.ascontiguousarray(made, dtype=np.float32).tobytes())

    def _vector(self, row: int) -> Vectors:
        size = 4 * self._dimension
        self._kept.seek(row * size)
        return np.frombuffer(self._kept.read(size), dtype=np.float32)


@contextmanager
def encoding_once(encoder: Encoder) -> Iterator[Once]:
    """Give what encodes each text once."""
    with tempfile.TemporaryFile(prefix="touche-rad-") as kept:
        yield Once(encoder, kept)
