"""Annotations beside an index folder: one JSON object per argument, made by a language model.

`annotations/NAME/records.jsonl` has one line per argument, in the order of the index; `null` if the
model had no valid answer. `about.json` says who annotated, and whether all lines are there. A
killed run is resumed after its last complete block.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from retrieval.index import parts
from retrieval.index.store import Store
from touche_rad.errors import UserError, WorkError
from touche_rad.files.outputs import locked
from touche_rad.plugins import Annotator
from touche_rad.plugins.contracts import Progress

ANNOTATIONS: Final = "annotations"
RECORDS: Final = "records.jsonl"
CALLS: Final = 64
"""Calls per block; annotations are saved after each block."""
_OPTION: Final = "--annotate"


class About(parts.About):
    """What `about.json` says."""

    arguments: int
    annotated: int | None = None
    """Number of annotations; None until all arguments have a line."""
    by: Mapping[str, Any]
    """The annotator's identity: model, prompts, options."""


class StoredAnnotations:
    """Opened annotations; any number of threads and processes can read them."""

    def __init__(self, folder: Path, about: About, number: Callable[[str], int | None]) -> None:
        """Read the file; `number` returns the position of an argument by its id."""
        self.about = about
        self.name = folder.name
        self._number = number
        self._lines = (folder / RECORDS).read_bytes().splitlines()
        if len(self._lines) != about.arguments:
            raise ValueError(f"{RECORDS} has {len(self._lines)} lines")

    def __len__(self) -> int:
        return self.about.annotated or 0

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the content."""
        about = self.about.model_dump_json(exclude={"checksums"})
        content = (about.encode(), *self._lines)
        return sha256(b"\n".join(content)).hexdigest()[:16]

    def get_all(self, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """Return the annotation of each argument, or None if there is none."""
        numbers = [self._number(one) for one in ids]
        try:
            return [None if one is None else json.loads(self._lines[one]) for one in numbers]
        except ValueError:
            raise WorkError(f"annotations {self.name}: {RECORDS} is damaged") from None


def open_annotations(
    index: Path, collection: str, number: Callable[[str], int | None]
) -> dict[str, StoredAnnotations]:
    """Open all complete annotations of an index, by name."""

    def make(folder: Path, about: About) -> StoredAnnotations | None:
        return None if about.annotated is None else StoredAnnotations(folder, about, number)

    opened = parts.open_parts(index / ANNOTATIONS, About, collection, _OPTION, make)
    return {one.name: one for one in opened if one is not None}


async def annotate(
    index: Path, collection: str, annotator: Annotator, *, report: Progress | None = None
) -> int:
    """Annotate the arguments of an index and return how many have an annotation.

    Returns 0 if the same annotator annotated them before.
    """
    folder = index / ANNOTATIONS / annotator.name
    folder.mkdir(parents=True, exist_ok=True)
    by = json.loads(json.dumps(annotator.identity, default=str))
    try:
        with locked(folder):
            store = Store(index)
            about = parts.read_about(folder, About, collection, _OPTION)
            if about is None:
                about = About(collection=collection, arguments=len(store), by=by)
                (folder / RECORDS).unlink(missing_ok=True)
                about.write(folder)
            elif about.by != by:
                old = ", ".join(
                    f"{key} {about.by.get(key)}" for key in by if about.by.get(key) != by[key]
                )
                raise UserError(
                    f"annotations {annotator.name} are by another model or with other settings "
                    f"({old}): remove {folder} to annotate again"
                )
            elif about.annotated is not None:
                return 0
            await _record(folder / RECORDS, store, annotator, report)
            lines = (folder / RECORDS).read_bytes().splitlines()
            annotated = sum(line != b"null" for line in lines)
            about.model_copy(update={"annotated": annotated}).write(folder)
            return annotated
    except BlockingIOError:
        raise UserError(f"{folder}: another process is annotating this index") from None


async def _record(path: Path, store: Store, annotator: Annotator, report: Progress | None) -> None:
    """Annotate the arguments that have no line yet, one block at a time."""
    size, total = CALLS * annotator.per_call, len(store)
    with path.open("a+b") as out:
        out.seek(0)
        lines = [len(line) for line in out if line.endswith(b"\n")]
        done = len(lines) - (len(lines) % size if len(lines) < total else 0)
        out.truncate(sum(lines[:done]))
        for start in range(done, total, size):
            texts = [store.at(number).text for number in range(start, min(start + size, total))]

            def tell(count: int, before: int = start) -> None:
                if report is not None:
                    report(min(before + count, total), total)

            for one in await annotator.annotate_all(texts, tell):
                line = json.dumps(one, ensure_ascii=False) + "\n"
                out.write(line.encode("utf-8", "replace"))
            out.flush()
            os.fsync(out.fileno())
