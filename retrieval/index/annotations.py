"""Annotations beside an index folder: one JSON object per argument, made by a language model.

`annotations/NAME/records.jsonl` has one line per argument, in the order of the index; `null` if the
model had no valid answer. `about.json` says who annotated, and whether all lines are there. A
killed run is resumed after its last complete block.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from retrieval.index.store import Store
from touche_rad.errors import UserError, WorkError, refuse_newer
from touche_rad.files import atomic_write
from touche_rad.files.outputs import locked
from touche_rad.plugins import Annotator
from touche_rad.plugins.contracts import Progress

ANNOTATIONS: Final = "annotations"
ABOUT, RECORDS = "about.json", "records.jsonl"
FORMAT: Final = 2
CALLS: Final = 64
"""Calls per block; annotations are saved after each block."""


class About(BaseModel):
    """What `about.json` says."""

    model_config = ConfigDict(frozen=True)

    format: int
    collection: str
    arguments: int
    annotated: int | None = None
    """Number of annotations; None until all arguments have a line."""
    by: Mapping[str, Any]
    """The annotator's identity: model, prompts, options."""


class StoredAnnotations:
    """Opened annotations; any number of threads and processes can read them."""

    def __init__(self, folder: Path, about: About, number: Callable[[str], int | None]) -> None:
        """Map the file; `number` returns the position of an argument by its id."""
        self.about = about
        self._folder = folder
        self._number = number
        with (folder / RECORDS).open("rb") as file:
            self._records = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._places = [0, *accumulate(map(len, file))]
        if len(self._places) != about.arguments + 1:
            raise ValueError(f"{RECORDS} has {len(self._places) - 1} lines")

    def __len__(self) -> int:
        return self.about.annotated or 0

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the content."""
        return sha256(self.about.model_dump_json().encode() + self._records).hexdigest()[:16]

    def get_all(self, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """Return the annotation of each argument, or None if there is none."""
        return [self._get(self._number(one)) for one in ids]

    def _get(self, number: int | None) -> Mapping[str, Any] | None:
        if number is None:
            return None
        begin, end = self._places[number : number + 2]
        try:
            record: Mapping[str, Any] | None = json.loads(self._records[begin:end])
        except ValueError:
            raise WorkError(f"{self._folder}: argument number {number} is damaged") from None
        return record


def open_annotations(
    index: Path, collection: str, number: Callable[[str], int | None]
) -> dict[str, StoredAnnotations]:
    """Open all complete annotations of an index, by name."""
    opened: dict[str, StoredAnnotations] = {}
    for path in sorted((index / ANNOTATIONS).glob(f"*/{ABOUT}")):
        folder, about = path.parent, _read_about(path.parent)
        if (about.format, about.collection) != (FORMAT, collection):
            raise UserError(f"{folder} annotates another collection; {_again(folder)}")
        if about.annotated is None:
            continue
        try:
            opened[folder.name] = StoredAnnotations(folder, about, number)
        except (OSError, ValueError) as error:
            raise UserError(f"{folder} is damaged ({error}); {_again(folder)}") from None
    return opened


async def annotate(
    index: Path, collection: str, annotator: Annotator, *, report: Progress | None = None
) -> int:
    """Annotate the arguments of an index and return how many have an annotation.

    Returns 0 if the same annotator annotated them before.
    """
    folder = index / ANNOTATIONS / annotator.name
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder):
            store = Store(index)
            if (folder / ABOUT).exists():
                about = _read_about(folder)
                check_annotator(about.by, annotator, f"remove {folder} to annotate again")
                if about.annotated is not None:
                    return 0
            else:
                about = About(
                    format=FORMAT,
                    collection=collection,
                    arguments=len(store),
                    by=plain(annotator),
                )
                (folder / RECORDS).unlink(missing_ok=True)
                _write_about(folder, about)
            await _record(folder / RECORDS, store, annotator, report)
            with (folder / RECORDS).open("rb") as lines:
                annotated = sum(line != b"null\n" for line in lines)
            _write_about(folder, about.model_copy(update={"annotated": annotated}))
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


def plain(annotator: Annotator) -> dict[str, Any]:
    """Return an annotator's identity as JSON returns it, to compare it with a stored one."""
    identity: dict[str, Any] = json.loads(json.dumps(annotator.identity, default=str))
    return identity


def check_annotator(by: Mapping[str, Any], annotator: Annotator, fix: str) -> None:
    """Reject annotations by another annotator."""
    now = plain(annotator)
    if dict(by) != now:
        different = ", ".join(f"{key} {by.get(key)}" for key in now if by.get(key) != now[key])
        raise UserError(
            f"annotations {annotator.name} are by another model or with other settings "
            f"({different}): {fix}"
        )


def _write_about(folder: Path, about: About) -> None:
    with atomic_write(folder / ABOUT) as stream:
        stream.write(about.model_dump_json(indent=2) + "\n")


def _read_about(folder: Path) -> About:
    try:
        record = json.loads((folder / ABOUT).read_bytes())
        refuse_newer(folder, record, FORMAT)
        return About.model_validate(record)
    except (OSError, ValueError):
        raise UserError(f"{folder} cannot be read; {_again(folder)}") from None


def _again(folder: Path) -> str:
    return f"remove the folder and run: touche-rad index --annotate {folder.name}"
