"""Annotations beside an index folder: one JSON object per argument, made by a language model.

`annotations/NAME/records.jsonl` has one line per argument, in the order of the index; `null` if the
model had no valid answer. `about.json` says who annotated. Until both are written, the blocks of
annotations are in a log beside the folder, from which a killed run is resumed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from retrieval.index import parts
from retrieval.index.store import ANNOTATIONS, Store
from touche_rad.errors import WorkError
from touche_rad.files import atomic_write
from touche_rad.files.append_log import (
    IDENTITY,
    AppendLog,
    LogKind,
    read_at,
    refuse_other_identity,
)
from touche_rad.files.records import read_file
from touche_rad.plugins import Annotator
from touche_rad.plugins.contracts import Progress

RECORDS: Final = "records.jsonl"
CALLS: Final = 64
"""Calls per block; annotations are saved after each block."""
PROGRESS: Final = LogKind(
    "annotation",
    1,
    fix="remove it to annotate again",
    damaged="its arguments are annotated again",
    synced=True,
)


class AboutAnnotations(parts.About):
    """What `about.json` says."""

    option = "--annotate"

    arguments: int
    annotated: int
    """Number of annotations."""
    by: Mapping[str, Any]
    """The annotator's identity: model, prompts, options."""


class StoredAnnotations:
    """Opened annotations; any number of threads and processes can read them."""

    def __init__(
        self, folder: Path, about: AboutAnnotations, number: Callable[[str], int | None]
    ) -> None:
        """Read the file; `number` returns the position of an argument by its id."""
        self.about = about
        self.name = folder.name
        self._number = number
        self._lines = read_file(folder / RECORDS).splitlines()
        if len(self._lines) != about.arguments:
            raise ValueError(f"{RECORDS} has {len(self._lines)} lines")

    def __len__(self) -> int:
        return self.about.annotated

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the content."""
        about = self.about.model_dump_json(exclude={"checksums"})
        return sha256(b"\n".join((about.encode(), *self._lines))).hexdigest()[:16]

    def get_all(self, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """Return the annotation of each argument, or None if there is none."""
        numbers = [self._number(id_) for id_ in ids]
        try:
            return [
                None if number is None else json.loads(self._lines[number]) for number in numbers
            ]
        except ValueError:
            raise WorkError(f"annotations {self.name}: {RECORDS} is damaged") from None


def open_annotations(
    index: Path, collection: str, number: Callable[[str], int | None]
) -> dict[str, StoredAnnotations]:
    """Open all complete annotations of an index, by name."""
    read = partial(StoredAnnotations, number=number)
    opened = parts.open_parts(index / ANNOTATIONS, AboutAnnotations, collection, read)
    return {annotations.name: annotations for annotations in opened}


async def annotate(
    index: Path, collection: str, annotator: Annotator, *, report: Progress | None = None
) -> int:
    """Annotate the arguments of an index and return how many have an annotation.

    Returns 0 if the same annotator annotated them before.
    """
    folder = index / ANNOTATIONS / annotator.name
    by = json.loads(json.dumps(annotator.identity, default=str))
    about = parts.read_about(folder, AboutAnnotations, collection)
    if about:
        refuse_other_identity(
            f"annotations {annotator.name} are by another model or with other settings:",
            about.by,
            by,
            f"remove {folder} to annotate again",
        )
        return 0
    store = Store(index)
    header = {IDENTITY: {"collection": collection, **by}}
    total = len(store)
    size = CALLS * annotator.per_call
    with closing(AppendLog(folder.with_name(f"{folder.name}.part"), PROGRESS, header)) as log:
        # Annotate the blocks that are not in the log yet.
        offsets = {block.record["start"]: block.offset for block in log.entries()}
        for start in range(0, total, size):
            if start in offsets:
                continue
            texts = [store.at(number).text for number in range(start, min(start + size, total))]

            def report_block(count: int, before: int = start) -> None:
                if report:
                    report(min(before + count, total), total)

            annotations = list(await annotator.annotate_all(texts, report_block))
            offsets[start] = log.append({"start": start, "annotations": annotations})

        # Write all blocks in the order of the index.
        annotated = 0
        with atomic_write(folder / RECORDS) as stream:
            for block in read_at(log.path, [offset for _, offset in sorted(offsets.items())]):
                for annotation in block["annotations"]:
                    annotated += annotation is not None
                    stream.write(json.dumps(annotation, ensure_ascii=False) + "\n")
        about = AboutAnnotations(collection=collection, arguments=total, annotated=annotated, by=by)
        about.write(folder)
        log.finish()
    return annotated
