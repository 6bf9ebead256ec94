"""The vectors of an index folder, in `dense/NAME/`.

Each distinct text is encoded once. `about.json` names the fields that are complete.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict

from retrieval.dense._neighbours import Neighbours, Precision, write_vectors
from retrieval.dense.encoders import Encoder, Vectors
from retrieval.index.analyser import content
from retrieval.index.store import DENSE, Store
from touche_rad.errors import UserError, WorkError, nearest, refuse_newer
from touche_rad.files import atomic_write
from touche_rad.files.outputs import locked
from touche_rad.plugins import VectorsWanted
from touche_rad.plugins.contracts import Progress

FORMAT: Final = 2
ABOUT: Final = "about.json"
BLOCK: Final = 512
"""Texts per block."""

_PLACES: Final = ("rows", "members", "starts")
"""Files with the text of each argument, and with the arguments of each text."""

Scored = tuple[float, int]


class About(BaseModel):
    """The description of a folder of vectors."""

    model_config = ConfigDict(frozen=True)

    format: int
    encoder: str
    collection: str
    dimension: int
    precision: Precision
    fields: tuple[str, ...]


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
        about = _read_about(target) if (target / ABOUT).exists() else None
        encoded: tuple[str, ...] = about.fields if about else ()
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
            if not blocks:
                continue
            vectors = np.concatenate(blocks)
            dimension = vectors.shape[1]
            if about and dimension != about.dimension:
                raise WorkError(
                    f"the vector size of {encoder.name!r} changed from {about.dimension}"
                )
            shutil.rmtree(target / field, ignore_errors=True)
            write_vectors(vectors, target / field, precision)
            order = np.argsort(rows, kind="stable").astype(np.int32)
            members = order[int((rows < 0).sum()) :]
            starts = np.searchsorted(rows[members], np.arange(rows.max() + 2))
            for name, array in zip(_PLACES, (rows, members, starts), strict=True):
                np.save(target / field / f"{name}.npy", array)
            encoded = (*encoded, field)
            about = About(
                format=FORMAT,
                encoder=encoder.name,
                collection=collection,
                dimension=dimension,
                precision=precision,
                fields=encoded,
            )
            with atomic_write(target / ABOUT) as stream:
                stream.write(about.model_dump_json(indent=2) + "\n")
    return total


def _read_about(folder: Path) -> About:
    try:
        record = json.loads((folder / ABOUT).read_text("utf-8"))
        refuse_newer(folder, record, FORMAT)
        return About.model_validate(record)
    except (OSError, ValueError):
        raise UserError(f"{folder} cannot be read; {_again(folder)}") from None


def _again(folder: Path) -> str:
    return f"delete {folder} and add the vectors again: touche-rad index --dense"


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
        self._texts = {field: Neighbours(folder / field) for field in about.fields}
        self._places = {
            field: [np.load(folder / field / f"{name}.npy", mmap_mode="r") for name in _PLACES]
            for field in about.fields
        }

    def nearest(self, field: str, queries: Vectors, k: int) -> list[list[Scored]]:
        """Return the nearest arguments of each query by number; equal scores are sorted by it."""
        texts, (_, members, starts) = self._of(field, queries)
        hits = [
            [
                (score, int(number))
                for score, row in rows
                for number in members[starts[row] : starts[row + 1]]
            ]
            for rows in texts.nearest(queries, k)
        ]
        return [sorted(one, key=lambda hit: (-hit[0], hit[1]))[:k] for one in hits]

    def likeness(self, field: str, queries: Vectors, numbers: Sequence[int]) -> Vectors:
        """Return the cosine of each query with each argument; 0 if the argument has no text."""
        texts, (rows_of_all, _, _) = self._of(field, queries)
        rows = rows_of_all[list(numbers)]
        cosines = texts.products(queries, np.maximum(rows, 0))
        cosines[:, rows < 0] = 0
        return cosines

    def _of(self, field: str, queries: Vectors) -> tuple[Neighbours, list[Any]]:
        if field not in self._texts:
            raise UserError(
                f"encoder {self.about.encoder!r} has no vectors of the field {field!r}"
                f"{nearest(field, self._texts)}"
            )
        if len(queries) and queries.shape[1] != self.about.dimension:
            raise WorkError(
                f"encoder {self.about.encoder!r} gives {queries.shape[1]} dimensions, "
                f"the index has {self.about.dimension}"
            )
        return self._texts[field], self._places[field]


def open_vectors(folder: Path, collection: str) -> dict[str, DenseVectors]:
    """Open the vectors of an index, by the names of their encoders."""
    opened = {}
    for path in sorted((folder / DENSE).glob(f"*/{ABOUT}")):
        place = path.parent
        about = _read_about(place)
        if about.format != FORMAT or about.collection != collection:
            raise UserError(f"{place}: the vectors belong to another collection; {_again(place)}")
        try:
            opened[about.encoder] = DenseVectors(place, about)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{place}: the vectors are damaged ({error}); {_again(place)}"
            ) from None
    return opened
