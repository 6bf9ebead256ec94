"""Annotations beside an index folder: one JSON object per argument, made by a language model.

`annotations/NAME/` contains `records.jsonl` (one line per argument, in the order of the index;
`null` if the model had no valid answer), `places.npy` (where each line begins) and `about.json`.
While they are made, the lines are in `annotations/.NAME.making/`, so that a killed run is resumed.
The finished folder appears at once, with the same bytes however often the run was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict

from retrieval.index.store import Store
from touche_rad.errors import UserError, WorkError, refuse_newer
from touche_rad.files.locks import open_locked
from touche_rad.plugins import Annotator
from touche_rad.plugins.contracts import Report

ANNOTATIONS: Final = "annotations"
ABOUT, RECORDS, PLACES = "about.json", "records.jsonl", "places.npy"
FORMAT: Final = 2
CALLS: Final = 64
"""Calls per block; annotations are saved after each block."""
SAMPLE: Final = 500
"""Arguments whose mean length is the estimate for all."""


class About(BaseModel):
    """What `about.json` says."""

    model_config = ConfigDict(frozen=True)

    format: int
    collection: str
    arguments: int
    annotated: int
    by: Mapping[str, Any]
    """The annotator's identity: model, prompts, options."""


class StoredAnnotations:
    """Opened annotations; any number of threads and processes can read them."""

    def __init__(self, folder: Path, about: About, number: Callable[[str], int | None]) -> None:
        """Map the files; `number` returns the position of an argument by its id."""
        self.about = about
        self._folder = folder
        self._number = number
        self._places: Any = np.asarray(np.load(folder / PLACES, mmap_mode="r"))
        with (folder / RECORDS).open("rb") as file:
            self._records = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(self._places) != about.arguments + 1 or int(self._places[-1]) != len(self._records):
            raise ValueError(f"{RECORDS} has {len(self._records)} bytes")

    def __len__(self) -> int:
        return self.about.annotated

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the content."""
        digest = hashlib.sha256()
        for name in (ABOUT, RECORDS):
            with (self._folder / name).open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()[:16]

    def get_all(self, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """Return the annotation of each argument, or None if there is none."""
        return [self._get(self._number(one)) for one in ids]

    def _get(self, number: int | None) -> Mapping[str, Any] | None:
        if number is None:
            return None
        begin, end = self._places[number : number + 2].tolist()
        try:
            record: Mapping[str, Any] | None = json.loads(self._records[begin:end])
        except ValueError:
            raise WorkError(f"{self._folder}: argument number {number} is damaged") from None
        return record


def open_annotations(
    index: Path, collection: str, number: Callable[[str], int | None]
) -> dict[str, StoredAnnotations]:
    """Open all annotations of an index, by name."""
    found: dict[str, StoredAnnotations] = {}
    for folder in sorted((index / ANNOTATIONS).glob("[!.]*")):
        about = _read_about(folder)
        if about is None:
            continue
        if (about.format, about.collection) != (FORMAT, collection):
            raise UserError(f"{folder} annotates another collection; {_again(folder)}")
        try:
            found[folder.name] = StoredAnnotations(folder, about, number)
        except (OSError, ValueError) as error:
            raise UserError(f"{folder} is damaged ({error}); {_again(folder)}") from None
    return found


def left_to_annotate(index: Path, annotator: Annotator) -> tuple[int, int]:
    """Return the number of arguments that are not annotated yet, and about how many letters."""
    store = Store(index)
    making = _making_folder(index, annotator.name)
    done = _lines(making / RECORDS) if _identity(making).get("by") == plain(annotator) else 0
    finished = _read_about(index / ANNOTATIONS / annotator.name) is not None
    left = 0 if finished else len(store) - done
    places = range(0, len(store), max(1, len(store) // SAMPLE))
    letters = sum(len(store.at(place).text) for place in places)
    return left, letters * left // max(1, len(places))


async def annotate(
    index: Path, collection: str, annotator: Annotator, *, report: Report | None = None
) -> int:
    """Annotate the arguments of an index and return how many have an annotation.

    Returns 0 if the same annotator annotated them before.

    Raises:
        UserError: There are annotations of this name by another annotator.
        WorkError: The model cannot be reached; finished blocks are kept.
    """
    target = index / ANNOTATIONS / annotator.name
    with _locked(index):
        making = _making_folder(index, annotator.name)
        before = _read_about(target)
        if before is not None:
            if dict(before.by) != plain(annotator):
                raise UserError(
                    f"{target} was made by another annotator "
                    f"({_difference(before.by, annotator)}): remove the folder to annotate again"
                )
            shutil.rmtree(making, ignore_errors=True)
            return 0
        _begin(making, {"collection": collection, "by": plain(annotator)})
        store = Store(index)
        await _record(making / RECORDS, store, annotator, report)
        made = making / annotator.name
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        shutil.copyfile(making / RECORDS, made / RECORDS)
        annotated = finish(made, collection, plain(annotator))
        made.rename(target)
        shutil.rmtree(making)
    return annotated


def finish(folder: Path, collection: str, by: Mapping[str, Any]) -> int:
    """Complete a folder that has `records.jsonl`; return the number of annotations."""
    places, annotated = [0], 0
    with (folder / RECORDS).open("rb") as lines:
        for line in lines:
            places.append(places[-1] + len(line))
            annotated += line != b"null\n"
    np.save(folder / PLACES, np.array(places, dtype=np.uint64))
    about = About(
        format=FORMAT, collection=collection, arguments=len(places) - 1, annotated=annotated, by=by
    )
    (folder / ABOUT).write_text(about.model_dump_json(indent=2) + "\n", "utf-8")
    return annotated


async def _record(path: Path, store: Store, annotator: Annotator, report: Report | None) -> None:
    """Annotate the arguments that have no line yet, one block at a time."""
    size = CALLS * annotator.per_call
    with path.open("ab") as out:
        done = _lines(path)
        done -= done % size if done < len(store) else 0
        out.truncate(_end(path, done))
        while done < len(store):
            last = min(done + size, len(store))
            texts = [store.at(number).text for number in range(done, last)]
            found = await annotator.annotate_all(
                texts, partial(report_part, report, done, len(store))
            )
            try:
                out.write(b"".join(map(line_of, found)))
                out.flush()
                os.fsync(out.fileno())
            except OSError as error:
                raise WorkError(f"{path}: cannot be written: {error.strerror}") from error
            done = last


def report_part(report: Report | None, before: int, total: int, done: int) -> None:
    """Report the progress of a block."""
    if report is not None:
        report(min(before + done, total), total)


def line_of(annotation: Mapping[str, Any] | None) -> bytes:
    """Return an annotation as a line of `records.jsonl`."""
    return json.dumps(annotation, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def plain(annotator: Annotator) -> dict[str, Any]:
    """Return an annotator's identity as JSON returns it, to compare it with a stored one."""
    identity: dict[str, Any] = json.loads(json.dumps(annotator.identity, default=str))
    return identity


@contextmanager
def _locked(index: Path) -> Iterator[None]:
    """Allow one process at a time to annotate an index."""
    try:
        held = open_locked(index, folder=True)
    except BlockingIOError:
        raise UserError(f"{index}: another process is changing this index") from None
    try:
        yield
    finally:
        os.close(held)


def _making_folder(index: Path, name: str) -> Path:
    return index / ANNOTATIONS / f".{name}.making"


def _begin(making: Path, identity: Mapping[str, Any]) -> None:
    """Create the folder, or check that a killed run left it with the same annotator."""
    making.mkdir(parents=True, exist_ok=True)
    note = making / "of.json"
    if note.is_file() and _identity(making) != identity:
        raise UserError(
            f"{making} has annotations by another model or with other settings: use the same as "
            "before, or remove the folder"
        )
    if not note.is_file():
        (making / RECORDS).unlink(missing_ok=True)
        fresh = making / "of.json.new"
        fresh.write_text(json.dumps(identity, indent=2) + "\n", "utf-8")
        fresh.rename(note)


def _identity(making: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((making / "of.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _difference(by: Mapping[str, Any], annotator: Annotator) -> str:
    now = plain(annotator)
    return ", ".join(f"{key} {by.get(key)}" for key in now if by.get(key) != now[key])


def _read_about(folder: Path) -> About | None:
    if not folder.exists():
        return None
    try:
        record = json.loads((folder / ABOUT).read_bytes())
        refuse_newer(folder, record, FORMAT)
        return About.model_validate(record)
    except (OSError, ValueError):
        raise UserError(f"{folder} cannot be read; {_again(folder)}") from None


def _again(folder: Path) -> str:
    return f"remove the folder and run: touche-rad index --annotate {folder.name}"


def _lines(path: Path) -> int:
    """Return the number of complete lines."""
    if not path.is_file():
        return 0
    with path.open("rb") as lines:
        return sum(line.endswith(b"\n") for line in lines)


def _end(path: Path, count: int) -> int:
    """Return the position after this many lines."""
    with path.open("rb") as lines:
        return sum(len(line) for line, _ in zip(lines, range(count), strict=False))
