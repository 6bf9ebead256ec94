"""The manifest of an index folder, and its arguments on disk: fast access by id, little memory.

`arguments.jsonl` contains them in the order of the collection; `ids.npy` the sorted ids, and
`places.npy` the begin and end of each id's line. The files are memory-mapped. The number of an
argument is the place of its id in `ids.npy`.
"""

from __future__ import annotations

import importlib.metadata
import json
import mmap
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel

from retrieval._arrays import Array, mapped
from retrieval.index.analyser import FIELDS
from retrieval.index.analyser import NAME as ANALYSER
from touche_rad import __version__, files
from touche_rad.debate import LONGEST_ID, Argument, may_be_id
from touche_rad.errors import UserError, WorkError, refuse_newer
from touche_rad.files.outputs import cache_folder, sha256_of
from touche_rad.files.records import make_folder, read_file

FILE = "manifest.json"
FORMAT = 6


class Manifest(BaseModel, frozen=True):
    """The description of an index folder."""

    format: int
    collection: str
    fields: dict[str, int]
    """How many arguments have words in a field; a field without words has no folder."""
    engine: Literal["pisa", "numpy"] = "pisa"
    """What wrote the folders of the fields."""
    analyser: str
    checksums: dict[str, str]
    """SHA-256 of each file."""
    versions: dict[str, str]


def write_manifest(folder: Path, collection: str, fields: dict[str, int], *, pisa: bool) -> None:
    """Write the manifest of a complete index folder."""
    package = "pyterrier-pisa" if pisa else "numpy"
    manifest = Manifest(
        format=FORMAT,
        collection=collection,
        fields=fields,
        engine="pisa" if pisa else "numpy",
        analyser=ANALYSER,
        checksums=checksums(folder),
        versions={"touche-rad": __version__, package: importlib.metadata.version(package)},
    )
    (folder / FILE).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 digest of each file below a folder, without hidden ones."""
    paths = (path for path in sorted(folder.rglob("[!.]*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in paths}


def verify(
    folder: Path, expected: Mapping[str, str], begin: str = "", *, once: bool = False
) -> None:
    """Raise an error if a file of an index, of its vectors or annotations is not as expected.

    `once` trusts files that were verified before and have not changed since.
    """
    mark = None
    if once:
        state: list[object] = [folder.resolve(), expected]
        with suppress(OSError, ValueError):  # of a name that is no file's; it is not verified
            for name in expected:
                file = os.stat(f"{folder}/{name}")
                state.append((file.st_size, file.st_mtime_ns, file.st_ino))

        # To compare the checksums takes a second for 287,156 arguments, so an empty file remembers
        # that they were right for this state of the files.
        digest_of_state = sha256(repr(state).encode()).hexdigest()
        with suppress(OSError, RuntimeError):  # a user of a container may have no home
            mark = cache_folder() / "verified-indexes" / digest_of_state
            if mark.exists():
                return
    for name, checksum in expected.items():
        path = folder / name
        if name.startswith(begin) and not (path.is_file() and sha256_of(path) == checksum):
            raise UserError(f"{folder}: {name} is missing or has changed: make it again")
    if mark:
        with suppress(OSError):
            make_folder(mark.parent)
            mark.touch()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of an index folder, and check that its files are as they were made.

    The engine maps files into memory, where a damaged one would crash it.
    """
    again = "build it again: touche-rad index SOURCE -o DIR --replace"
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no index; build it: touche-rad index SOURCE -o DIR")
    try:
        record = json.loads(read_file(folder / FILE))
        if record.get("format") != FORMAT:
            refuse_newer(folder, record, FORMAT)
        manifest = Manifest.model_validate(record)
    except FileNotFoundError:
        raise UserError(f"{folder} is not an index: it has no {FILE}") from None
    except (OSError, ValueError, RecursionError, AttributeError):  # also a list
        raise UserError(f"{folder}: {FILE} cannot be read; {again}") from None
    if (manifest.format, manifest.analyser) != (FORMAT, ANALYSER):
        raise UserError(f"{folder}: the index was built by another version of touche-rad; {again}")
    # Both may be a stranger's: the fingerprint is that of the arguments, and fields are folders.
    if (
        manifest.fields.keys() - {*FIELDS}
        or manifest.checksums.get(ARGUMENTS) != manifest.collection
    ):
        raise UserError(f"{folder}: {FILE} is damaged; {again}")
    verify(folder, manifest.checksums, once=True)
    return manifest


ARGUMENTS = "arguments.jsonl"
IDS = "ids.npy"
PLACES = "places.npy"
DENSE = "dense"
"""The folder of vectors in an index, if it has any."""
ANNOTATIONS = "annotations"
CACHED_ARGUMENTS = 20_000


def write_store(
    arguments: Iterable[Argument], folder: Path, add: Callable[[Argument], None]
) -> tuple[str, Array]:
    """Write the arguments without duplicates, and call `add` for each.

    Returns the collection's digest and, in the order of the collection, the arguments' numbers.
    """
    digest = sha256()
    keys: list[bytes] = []
    ends = array("Q", [0])
    with (folder / ARGUMENTS).open("wb") as out:
        for argument, line in distinct(arguments):
            keys.append(argument.id.encode())
            ends.append(ends[-1] + out.write(line))
            digest.update(line)
            add(argument)
    if not keys:
        raise UserError("the collection contains no argument")
    ids = np.array(keys, dtype=f"S{max(map(len, keys))}")
    order = np.argsort(ids, kind="stable")
    np.save(folder / IDS, ids[order])
    limits = np.frombuffer(ends, dtype=np.uint64)
    np.save(folder / PLACES, np.stack([limits[:-1][order], limits[1:][order]], axis=1))
    numbers = np.empty_like(order)
    numbers[order] = np.arange(len(order))
    return digest.hexdigest(), numbers


def digest(arguments: Iterable[Argument]) -> str:
    """Return the digest of a collection of these arguments."""
    value = sha256()
    for _, line in distinct(arguments):
        value.update(line)
    return value.hexdigest()


def distinct(arguments: Iterable[Argument]) -> Iterator[tuple[Argument, bytes]]:
    """Yield each argument once, with its line."""
    lines: dict[str, int] = {}
    for argument in arguments:
        line = (files.argument_line(argument) + "\n").encode()
        id_ = argument.id
        if id_ not in lines:
            if not may_be_id(id_):
                raise UserError(
                    f"an id must have 1 to {LONGEST_ID} bytes of UTF-8 and no NUL, got {id_!r:.60}"
                )
            lines[id_] = hash(line)
            yield argument, line
        elif lines[id_] != hash(line):
            raise UserError(f"two different arguments have the id {id_!r}")


class Store:
    """The arguments of an opened index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ids = mapped(folder / IDS)
        self._places = mapped(folder / PLACES)
        with (folder / ARGUMENTS).open("rb") as file:
            self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # A cached method would keep its files open until the collector of cycles runs.
        read = partial(_argument, folder, self._lines, self._places)
        self.at: Callable[[int], Argument] = lru_cache(CACHED_ARGUMENTS)(read)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Argument]:
        """Yield all in the order of the collection."""
        with (self.folder / ARGUMENTS).open("rb") as lines:
            for line in lines:
                yield Argument.model_validate(json.loads(line))

    def number(self, argument_id: str) -> int | None:
        """Return the number of the argument with this id, or None."""
        if not may_be_id(argument_id):
            return None
        key = argument_id.encode()
        if len(key) > self._ids.dtype.itemsize:
            return None
        number = int(np.searchsorted(self._ids, np.bytes_(key)))
        if number >= len(self._ids) or bytes(self._ids[number]) != key:
            return None
        return number

    def id_at(self, number: int) -> str:
        """Return the id of the argument with this number."""
        return bytes(self._ids[number]).decode()


def _argument(folder: Path, lines: mmap.mmap, places: Array, number: int) -> Argument:
    try:
        begin, end = places[number].tolist()
        # pydantic's own JSON parser would reject lone surrogates.
        return Argument.model_validate(json.loads(lines[begin:end]))
    except (IndexError, ValueError):
        raise WorkError(
            f"{folder}: the index is damaged: argument number {number} cannot be read"
        ) from None
