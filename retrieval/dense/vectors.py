"""The vectors of an index folder, in `dense/NAME/`.

Each distinct text is encoded once. `about.json` names the fields that are complete.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from retrieval.dense._neighbours import Neighbours, Precision, write_vectors
from retrieval.dense.encoders import Encoder, Vectors
from retrieval.index import parts
from retrieval.index.analyser import content
from retrieval.index.store import DENSE, Store
from touche_rad.errors import UserError, WorkError, nearest
from touche_rad.files.outputs import locked
from touche_rad.plugins import VectorsWanted
from touche_rad.plugins.contracts import Progress

BLOCK: Final = 512
"""Texts per block."""
_OPTION: Final = "--dense"
_PLACES: Final = ("rows", "members", "starts")
"""Files with the text of each argument, and with the arguments of each text."""

Scored = tuple[float, int]


class About(parts.About):
    """The description of a folder of vectors."""

    encoder: str
    dimension: int
    precision: Precision
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
    target.mkdir(parents=True, exist_ok=True)
    with locked(target, wait=True):
        about = parts.read_about(target, About, collection, _OPTION)
        encoded = about.fields if about else ()
        precision = about.precision if about else wanted.precision
        store = Store(folder)
        texts = {field: _distinct(store, field) for field in wanted.fields if field not in encoded}
        total, done = sum(len(distinct) for distinct, _ in texts.values()), 0
        for field, (distinct, rows) in texts.items():
            blocks = []
            for start in range(0, len(distinct), BLOCK):
                blocks.append(encoder.passages(distinct[start : start + BLOCK]))
                done += len(blocks[-1])
                if report is not None:
                    report(done, total)
            encoded = (*encoded, field)
            dimension = blocks[0].shape[1] if blocks else about.dimension if about else 0
            if about and about.dimension not in (0, dimension):
                raise WorkError(
                    f"the vector size of {encoder.name!r} changed from {about.dimension}"
                )
            if blocks:
                shutil.rmtree(target / field, ignore_errors=True)
                write_vectors(np.concatenate(blocks), target / field, precision)
                order = np.argsort(rows, kind="stable").astype(np.int32)
                members = order[int((rows < 0).sum()) :]
                starts = np.searchsorted(rows[members], np.arange(rows.max() + 2))
                for name, array in zip(_PLACES, (rows, members, starts), strict=True):
                    np.save(target / field / f"{name}.npy", array)
            about = About(
                encoder=encoder.name,
                collection=collection,
                dimension=dimension,
                precision=precision,
                fields=encoded,
            )
            about.write(target)
    return total


def slug(name: str, joint: str = "-") -> str:
    """Return an encoder's name in letters, digits and joints, with a digest of the name."""
    plain = re.sub(r"[^a-z0-9]+", joint, name.lower()).strip(joint)[:40]
    return f"{plain}{joint}{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _distinct(store: Store, field: str) -> tuple[list[str], Any]:
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

    def __init__(self, folder: Path, about: About) -> None:
        self.about = about
        folders = {field: folder / field for field in about.fields if (folder / field).is_dir()}
        self._texts = {field: Neighbours(place) for field, place in folders.items()}
        self._places = {
            field: [np.load(place / f"{name}.npy", mmap_mode="r") for name in _PLACES]
            for field, place in folders.items()
        }

    def nearest(self, field: str, queries: Vectors, k: int) -> list[list[Scored]]:
        """Return the nearest arguments of each query by number; equal scores are sorted by it."""
        if not self._has(field, queries):
            return [[] for _ in queries]
        _, members, starts = self._places[field]
        hits = [
            [
                (score, int(number))
                for score, row in rows
                for number in members[starts[row] : starts[row + 1]]
            ]
            for rows in self._texts[field].nearest(queries, k)
        ]
        return [sorted(one, key=lambda hit: (-hit[0], hit[1]))[:k] for one in hits]

    def likeness(self, field: str, queries: Vectors, numbers: Sequence[int]) -> Vectors:
        """Return the cosine of each query with each argument; 0 if the argument has no text."""
        if not self._has(field, queries):
            return np.zeros((len(queries), len(numbers)), np.float32)
        rows = self._places[field][0][list(numbers)]
        cosines = self._texts[field].products(queries, np.maximum(rows, 0))
        cosines[:, rows < 0] = 0
        return cosines

    def _has(self, field: str, queries: Vectors) -> bool:
        """Whether any argument has a vector of the field; check the field and the queries' size."""
        name, fields = self.about.encoder, self.about.fields
        if field not in fields:
            raise UserError(
                f"encoder {name!r} has no vectors of the field {field!r}{nearest(field, fields)}"
            )
        if field in self._texts and len(queries) and queries.shape[1] != self.about.dimension:
            raise WorkError(
                f"encoder {name!r} gives {queries.shape[1]} dimensions, "
                f"the index has {self.about.dimension}"
            )
        return field in self._texts


def open_vectors(folder: Path, collection: str) -> dict[str, DenseVectors]:
    """Open the vectors of an index, by the names of their encoders."""
    opened = parts.open_parts(folder / DENSE, About, collection, _OPTION, DenseVectors)
    return {one.about.encoder: one for one in opened}
