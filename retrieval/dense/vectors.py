"""The vectors of an index folder, in `dense/NAME/`.

Each distinct text is encoded once. `about.json` names the fields that are complete.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from retrieval._arrays import Array, mapped
from retrieval.dense.encoders import Encoder, Vectors
from retrieval.index import parts
from retrieval.index.analyser import content
from retrieval.index.engine import Scored, best_scored
from retrieval.index.store import DENSE, Store
from touche_rad.errors import UserError, WorkError, nearest
from touche_rad.files.outputs import locked
from touche_rad.files.records import make_folder
from touche_rad.lists import in_parts
from touche_rad.plugins import VectorsWanted
from touche_rad.plugins.contracts import Progress
from touche_rad.text import digest_of_text

BLOCK: Final = 512
"""Texts per block."""
_VECTORS: Final = "vectors.npy"
"""The vectors of the texts."""
_ROWS: Final = "rows.npy"
"""The row of each argument's text (-1 if it is blank)."""


class AboutVectors(parts.About):
    """The description of a folder of vectors."""

    option = "--dense"

    encoder: str
    dimension: int
    fields: tuple[str, ...]
    """The complete fields; one that is blank in all arguments has no files."""


def add_vectors(
    folder: Path,
    collection: str,
    encoder: Encoder,
    wanted: VectorsWanted,
    report: Progress | None = None,
) -> int:
    """Encode fields of an index and return the number of texts; existing vectors are kept."""
    target = folder / DENSE / slug(encoder.name)
    make_folder(target)
    with locked(target, wait=True):
        about = parts.read_about(target, AboutVectors, collection)
        encoded = about.fields if about else ()
        store = Store(folder)
        texts = {field: _distinct(store, field) for field in wanted.fields if field not in encoded}
        total = sum(len(distinct) for distinct, _ in texts.values())
        done = 0
        for field, (distinct, rows) in texts.items():
            blocks = []
            for part in in_parts(distinct, BLOCK):
                blocks.append(encoder.passages(part))
                done += len(blocks[-1])
                if report:
                    report(done, total)
            encoded = (*encoded, field)
            dimension = about.dimension if about else 0
            if blocks:
                if dimension not in (0, blocks[0].shape[1]):
                    raise WorkError(f"the vector size of {encoder.name!r} changed from {dimension}")
                dimension = blocks[0].shape[1]
                shutil.rmtree(target / field, ignore_errors=True)
                (target / field).mkdir()
                np.save(target / field / _VECTORS, np.concatenate(blocks))
                np.save(target / field / _ROWS, rows)
            about = AboutVectors(
                encoder=encoder.name, collection=collection, dimension=dimension, fields=encoded
            )
            about.write(target)
    return total


def slug(name: str) -> str:
    """Return an encoder's name in letters, digits and hyphens, with a digest of the name."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    return f"{plain}-{digest_of_text(name, 8)}"


def _distinct(store: Store, field: str) -> tuple[list[str], Array]:
    """Return the distinct texts of a field, and each argument's place among them (-1 if blank)."""
    places: dict[str, int] = {}
    rows = np.full(len(store), -1, dtype=np.int32)
    for number in range(len(store)):
        text = content(store.at(number), field)
        if text.strip():
            rows[number] = places.setdefault(text, len(places))
    return list(places), rows


class DenseVectors:
    """The vectors of one encoder."""

    def __init__(self, folder: Path, about: AboutVectors) -> None:
        self.about = about
        self._fields: dict[str, list[Array]] = {}
        for path in (folder / field for field in about.fields):
            if path.is_dir():
                self._fields[path.name] = [mapped(path / _VECTORS), mapped(path / _ROWS)]

    def nearest(self, field: str, queries: Vectors, k: int) -> list[list[Scored]]:
        """Return the nearest arguments of each query by number; equal scores are sorted by it."""
        arrays = self._arrays(field, queries)
        if arrays is None or k < 1:
            return [[] for _ in queries]
        vectors, rows = arrays
        numbers = np.flatnonzero(rows >= 0)
        return [_best((vectors @ query)[rows[numbers]], numbers, k) for query in queries]

    def likeness(self, field: str, queries: Vectors, numbers: Sequence[int]) -> Vectors:
        """Return the cosine of each query with each argument; 0 if the argument has no text."""
        arrays = self._arrays(field, queries)
        if arrays is None:
            return np.zeros((len(queries), len(numbers)), np.float32)
        vectors, rows = arrays
        rows = rows[list(numbers)]
        cosines: Vectors = queries @ vectors[rows].T
        cosines[:, rows < 0] = 0
        return cosines

    def _arrays(self, field: str, queries: Vectors) -> list[Array] | None:
        """Return vectors and rows of a field, None if it is blank in all arguments; check both."""
        name = self.about.encoder
        if field not in self.about.fields:
            raise UserError(
                f"encoder {name!r} has no vectors of the field {field!r}"
                f"{nearest(field, self.about.fields)}"
            )
        arrays = self._fields.get(field)
        if arrays and len(queries) and queries.shape[1] != self.about.dimension:
            raise WorkError(
                f"encoder {name!r} gives {queries.shape[1]} dimensions, "
                f"the index has {self.about.dimension}"
            )
        return arrays


def _best(scores: Array, numbers: Array, k: int) -> list[Scored]:
    if k < len(scores):
        near = scores >= np.partition(scores, -k)[-k]
        scores = scores[near]
        numbers = numbers[near]
    return best_scored(scores, numbers, k)


def open_vectors(folder: Path, collection: str) -> dict[str, DenseVectors]:
    """Open the vectors of an index, by the names of their encoders."""
    opened = parts.open_parts(folder / DENSE, AboutVectors, collection, DenseVectors)
    return {vectors.about.encoder: vectors for vectors in opened}
