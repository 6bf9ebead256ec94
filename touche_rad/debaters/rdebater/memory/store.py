"""A memory on disk: `labels.npy`, `reasons.jsonl` and where each line of it begins.

A record's place is its argument's number. `labels.npy` has for each argument one byte a scheme and
dimension, so that a look-up reads 28 bytes and one short line.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from touche_rad.debaters.rdebater.schemes import Annotation, Dimension, Level, Mark, Scheme
from touche_rad.errors import UserError, WorkError

MEMORY: Final = "memory"
FORMAT: Final = 1
ABOUT, LABELS, KNOWN, REASONS, PLACES = (
    "about.json", "labels.npy", "known.npy", "reasons.jsonl", "places.npy",
)  # fmt: skip
_SCHEMES: Final = tuple(Scheme)
_DIMENSIONS: Final = tuple(Dimension)
_SHAPE: Final = (len(_SCHEMES), len(_DIMENSIONS))


class About(BaseModel):
    """What a memory says of itself."""

    model_config = ConfigDict(frozen=True)

    format: int
    collection: str
    arguments: int
    annotated: int
    by: Mapping[str, Any]
    """The annotator: its model, profile and prompts."""
    schemes: Mapping[str, int]
    """How many arguments use each."""


class Writing:
    """Takes the annotations in the order of the arguments' numbers."""

    def __init__(self, folder: Path, count: int) -> None:
        """Begin a memory of so many arguments in an empty folder."""
        self._folder = folder
        self._labels = np.zeros((count, *_SHAPE), dtype=np.uint8)
        self._known = np.zeros(count, dtype=bool)
        self._places = np.zeros(count + 1, dtype=np.uint64)
        self._reasons = (folder / REASONS).open("wb")
        self._next = 0

    def add(self, annotation: Annotation | str) -> None:
        """Take the next argument's annotation, or why it has none."""
        number = self._next
        if isinstance(annotation, str):
            said: dict[str, str] = {"failed": annotation}
        else:
            self._known[number] = True
            for scheme, mark in annotation.marks.items():
                place = _SCHEMES.index(scheme)
                self._labels[number, place] = [mark.levels.get(one, 0) for one in _DIMENSIONS]
            said = {scheme.value: mark.reason for scheme, mark in annotation.marks.items()}
        line = json.dumps(said, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self._places[number + 1] = self._places[number] + np.uint64(self._reasons.write(line))
        self._next += 1

    def finish(self, collection: str, by: Mapping[str, Any]) -> About:
        """Write what is mapped, and at last what the memory says of itself."""
        self._reasons.close()
        np.save(self._folder / LABELS, self._labels)
        np.save(self._folder / KNOWN, self._known)
        np.save(self._folder / PLACES, self._places)
        used = self._labels.any(axis=2).sum(axis=0).tolist()
        about = About(
            format=FORMAT, collection=collection, arguments=len(self._known),
            annotated=int(self._known.sum()), by=by,
            schemes={scheme.value: count for scheme, count in zip(Scheme, used, strict=True)},
        )  # fmt: skip
        (self._folder / ABOUT).write_text(about.model_dump_json(indent=2) + "\n", "utf-8")
        return about


class ArgumentMemory:
    """An opened memory; any number of threads and processes may read it."""

    def __init__(self, folder: Path, about: About, number: Callable[[str], int | None]) -> None:
        """Map the files; `number` gives the place of an argument by its id."""
        self.about = about
        self._folder = folder
        self._number = number
        self._labels: Any = np.asarray(np.load(folder / LABELS, mmap_mode="r"))
        self._known: Any = np.asarray(np.load(folder / KNOWN, mmap_mode="r"))
        self._places: Any = np.asarray(np.load(folder / PLACES, mmap_mode="r"))
        if not self._labels.shape == (about.arguments, *_SHAPE):
            raise ValueError(f"{LABELS} has the shape {self._labels.shape}")
        with (folder / REASONS).open("rb") as file:
            self._reasons = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if int(self._places[-1]) != len(self._reasons):
            raise ValueError(f"{REASONS} has {len(self._reasons)} bytes")

    def __len__(self) -> int:
        """Count the arguments that are annotated."""
        return self.about.annotated

    @cached_property
    def fingerprint(self) -> str:
        """What tells this memory's content from another's: a digest of all that it holds."""
        digest = hashlib.sha256()
        for name in (ABOUT, LABELS, KNOWN, REASONS):
            with (self._folder / name).open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()[:16]

    def annotations(self, ids: Sequence[str]) -> list[Annotation | None]:
        """Return the annotation of each argument, or None where there is none."""
        return [self._of(self._number(one)) for one in ids]

    def using(self, ids: Sequence[str]) -> list[bool | None]:
        """Return whether each argument uses any scheme, or None where that is not known."""
        numbers = [self._number(one) for one in ids]
        known = [number for number in numbers if number is not None and self._known[number]]
        used = self._labels[known].any(axis=(1, 2)).tolist() if known else []
        found = dict(zip(known, used, strict=True))
        return [None if number is None else found.get(number) for number in numbers]

    def _of(self, number: int | None) -> Annotation | None:
        if number is None or not self._known[number]:
            return None
        labels = self._labels[number].tolist()
        if not any(map(any, labels)):
            return Annotation()
        begin, end = self._places[number : number + 2].tolist()
        try:
            reasons = json.loads(self._reasons[begin:end])
            marks = {
                scheme: Mark(
                    levels=dict(zip(_DIMENSIONS, map(Level, row), strict=True)),
                    reason=reasons.get(scheme.value, ""),
                )
                for scheme, row in zip(_SCHEMES, labels, strict=True)
                if any(row)
            }
        except ValueError:
            raise WorkError(f"the memory is damaged: argument number {number}") from None
        return Annotation(marks=marks)


def read_about(folder: Path) -> About | None:
    """Return what a memory says of itself, or None where there is no memory."""
    if not folder.exists():
        return None
    try:
        return About.model_validate_json((folder / ABOUT).read_bytes())
    except (OSError, ValidationError):
        raise UserError(f"{folder}: cannot be read; {_again(folder)}") from None


def open_memory(
    index: Path, collection: str, number: Callable[[str], int | None]
) -> ArgumentMemory | None:
    """Open the memory beside an index, if there is one."""
    folder = index / MEMORY
    about = read_about(folder)
    if about is None:
        return None
    if (about.format, about.collection) != (FORMAT, collection):
        raise UserError(f"{folder}: the memory is of another collection; {_again(folder)}")
    try:
        return ArgumentMemory(folder, about, number)
    except (OSError, ValueError) as error:
        raise UserError(f"{folder}: the memory is damaged ({error}); {_again(folder)}") from None


def _again(folder: Path) -> str:
    return f"remove {folder} and make it anew with: touche-rad index --annotate"
