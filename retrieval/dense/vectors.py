"""The vectors of an index folder, in `dense/NAME/`.

Each distinct text is encoded once. Blocks of vectors are written into a hidden folder, so a killed
run is resumed; the folder `dense/NAME` appears only when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.dense.encoders import Encoder, Vectors
from retrieval.dense.neighbours import Graph, Neighbours, Precision, write_graph, write_vectors
from retrieval.index.analyser import content
from retrieval.index.store import DENSE, Store
from touche_rad.errors import UserError, WorkError, nearest, refuse_newer
from touche_rad.files.locks import locked
from touche_rad.plugins.contracts import Report

FORMAT: Final = 2
BLOCK: Final = 512
"""Texts per block; each block is written to disk."""
FIELDS: Final = ("text", "attacks", "supports")

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
    graph: bool


def add_vectors(
    folder: Path,
    collection: str,
    encoder: Encoder,
    *,
    fields: Sequence[str] = FIELDS,
    precision: Precision = "float16",
    graph: bool = False,
    report: Report | None = None,
) -> int:
    """Encode fields of an index and return the number of texts; existing vectors are kept."""
    target = folder / DENSE / slug(encoder.name)
    before = _before(target)
    if before is not None:
        if graph and not before.graph:
            raise UserError(
                f"{target}: these vectors have no graph: delete the folder and add them again with "
                "--dense-graph"
            )
        fields = [field for field in fields if field not in before.fields]
        precision, graph = before.precision, before.graph
        if not fields:
            return 0
    store = Store(folder)
    texts = {field: _distinct(store, field) for field in fields}
    total = sum(len(distinct) for distinct, _ in texts.values())
    what = f"{collection} {' '.join(fields)}"
    with _making(target, what, before) as making:
        done = 0
        dimension = 0
        for field, (distinct, rows) in texts.items():
            counted = _counting(report, done, total)
            vectors = _encoded(making / f"{field}.vectors", distinct, encoder, counted)
            dimension = vectors.shape[1] if len(distinct) else dimension
            if before and len(distinct) and dimension != before.dimension:
                shutil.rmtree(making)
                raise WorkError(
                    f"the vector size of {encoder.name!r} changed from {before.dimension}"
                )
            done += len(distinct)
            shutil.rmtree(making / field, ignore_errors=True)
            if len(distinct):
                write_vectors(vectors, making / field, precision)
                _write_members(making / field, rows)
                if graph:
                    write_graph(vectors, making / field)
        made = tuple(field for field, (distinct, _) in texts.items() if distinct)
        about = About(
            format=FORMAT,
            encoder=encoder.name,
            collection=collection,
            graph=graph,
            dimension=dimension or (before.dimension if before else 0),
            precision=precision,
            fields=(*(before.fields if before else ()), *made),
        )
        (making / "about.json").write_text(about.model_dump_json(indent=2) + "\n", "utf-8")
        for field in fields:
            (making / f"{field}.vectors").unlink(missing_ok=True)
        if before is None:
            making.rename(target)
        else:
            _move_in(making, target, made)
    return total


def _before(target: Path) -> About | None:
    """Return the description of existing vectors, or None."""
    if not target.exists():
        return None
    try:
        record = json.loads((target / "about.json").read_bytes())
        refuse_newer(target, record, FORMAT)
        return About.model_validate(record)
    except (OSError, ValueError):
        raise UserError(
            f"{target} cannot be read: delete the folder and add the vectors again"
        ) from None


def _move_in(making: Path, target: Path, fields: Sequence[str]) -> None:
    """Add fields to existing vectors; the last step makes them visible."""
    for field in fields:
        shutil.rmtree(target / field, ignore_errors=True)
        (making / field).rename(target / field)
    (making / "about.json").replace(target / "about.json")
    shutil.rmtree(making)


def _counting(report: Report | None, before: int, total: int) -> Callable[[int], None]:
    return (lambda _: None) if report is None else (lambda done: report(before + done, total))


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


@contextmanager
def _making(target: Path, what: str, before: About | None) -> Iterator[Path]:
    """Give one process at a time the hidden folder in which vectors are built."""
    making = target.parent / f".{target.name}.making"
    making.mkdir(parents=True, exist_ok=True)
    with locked(making.parent, wait=True):
        if _before(target) != before:
            raise UserError(f"{target}: another process has just added these vectors")
        making.mkdir(exist_ok=True)
        note = making / "of"
        if not note.is_file() or note.read_text("utf-8") != what:
            shutil.rmtree(making)
            making.mkdir()
            note.write_text(what, "utf-8")
        yield making


def _encoded(
    path: Path, texts: Sequence[str], encoder: Encoder, report: Callable[[int], None]
) -> Any:
    """Encode the texts that are not in the file yet, and return all vectors, memory-mapped."""
    if not texts:
        return np.empty((0, 0), dtype=np.float32)
    shape = path.with_suffix(".dimension")
    dimension = int(shape.read_text()) if shape.is_file() else 0
    with path.open("ab") as out:
        done = out.tell() // (4 * dimension) if dimension else 0
        done -= done % BLOCK if done < len(texts) else 0
        out.truncate(done * 4 * dimension)
        for start in range(done, len(texts), BLOCK):
            found = encoder.passages(texts[start : start + BLOCK])
            if dimension and found.shape[1] != dimension:
                raise WorkError(f"the vector size of {encoder.name!r} changed from {dimension}")
            if not dimension:
                dimension = found.shape[1]
                shape.write_text(str(dimension))
            out.write(np.ascontiguousarray(found, dtype=np.float32).tobytes())
            out.flush()
            os.fsync(out.fileno())
            report(min(start + BLOCK, len(texts)))
    return np.memmap(path, dtype=np.float32, mode="r", shape=(len(texts), dimension))


def _write_members(folder: Path, rows: Any) -> None:
    """Write the arguments of each text."""
    order = np.argsort(rows, kind="stable").astype(np.int32)
    order = order[int((rows < 0).sum()) :]
    np.save(folder / "rows.npy", rows)
    np.save(folder / "members.npy", order)
    np.save(folder / "starts.npy", np.searchsorted(rows[order], np.arange(rows.max() + 2)))


class FieldVectors:
    """The vectors of one field."""

    def __init__(self, folder: Path, *, graph: bool) -> None:
        self._exact = Neighbours(folder)
        self._graph = Graph(folder) if graph else None
        self._rows = np.load(folder / "rows.npy", mmap_mode="r")
        self._members = np.load(folder / "members.npy", mmap_mode="r")
        self._starts = np.load(folder / "starts.npy", mmap_mode="r")

    def nearest(self, queries: Vectors, k: int, *, approximate: bool) -> list[list[Scored]]:
        """Return the nearest arguments of each query; equal scores are sorted by number."""
        if approximate and self._graph is None:
            raise UserError("these vectors have no graph: build the index with --dense-graph")
        near = self._graph if approximate and self._graph else self._exact
        return [self._arguments(found, k) for found in near.nearest(queries, k)]

    def likeness(self, queries: Vectors, numbers: Sequence[int]) -> Vectors:
        """Return the cosine of each query with each argument; 0 if the argument has no text."""
        rows = self._rows[list(numbers)]
        cosines = self._exact.products(queries, np.maximum(rows, 0))
        cosines[:, rows < 0] = 0
        return cosines

    def _arguments(self, found: Sequence[Scored], k: int) -> list[Scored]:
        flat = [
            (score, int(number))
            for score, row in found
            for number in self._members[self._starts[row] : self._starts[row + 1]]
        ]
        return sorted(flat, key=lambda hit: (-hit[0], hit[1]))[:k]


class DenseVectors:
    """The vectors of one encoder."""

    def __init__(self, folder: Path, about: About) -> None:
        self.about = about
        self._fields = {
            field: FieldVectors(folder / field, graph=about.graph) for field in about.fields
        }

    def nearest(
        self, field: str, queries: Vectors, k: int, *, approximate: bool = False
    ) -> list[list[Scored]]:
        """Return the nearest arguments of each query, by number."""
        return self._of(field, queries).nearest(queries, k, approximate=approximate)

    def likeness(self, field: str, queries: Vectors, numbers: Sequence[int]) -> Vectors:
        """Return the cosine of each query with each argument."""
        return self._of(field, queries).likeness(queries, numbers)

    def _of(self, field: str, queries: Vectors) -> FieldVectors:
        if field not in self._fields:
            raise UserError(
                f"encoder {self.about.encoder!r} has no vectors of the field {field!r}"
                f"{nearest(field, self._fields)}"
            )
        if len(queries) and queries.shape[1] != self.about.dimension:
            raise WorkError(
                f"encoder {self.about.encoder!r} gives {queries.shape[1]} dimensions, "
                f"the index has {self.about.dimension}"
            )
        return self._fields[field]


def open_vectors(folder: Path, collection: str) -> dict[str, DenseVectors]:
    """Open the vectors of an index, by the names of their encoders."""
    found = {}
    for place in sorted((folder / DENSE).glob("[!.]*/about.json")):
        again = f"delete {place.parent} and add the vectors again: touche-rad index --dense"
        try:
            record = json.loads(place.read_text("utf-8"))
            refuse_newer(place.parent, record, FORMAT)
            about = About.model_validate(record)
        except (OSError, ValueError, ValidationError):
            raise UserError(f"{place}: cannot be read; {again}") from None
        if about.format != FORMAT or about.collection != collection:
            raise UserError(f"{place.parent}: the vectors belong to another collection; {again}")
        try:
            found[about.encoder] = DenseVectors(place.parent, about)
        except (OSError, ValueError) as error:
            raise UserError(f"{place.parent}: the vectors are damaged ({error}); {again}") from None
    return found
