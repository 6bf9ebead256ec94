"""The arguments of an index on disk: any of them at once by id, with little memory.

`arguments.jsonl` holds them in the collection's order; `ids.npy` the ids in byte order, and
`places.npy` for each of these where its line begins and ends. All are mapped, not loaded.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError

ARGUMENTS, IDS, PLACES = "arguments.jsonl", "ids.npy", "places.npy"
REMEMBERED = 20_000


def write_store(arguments: Iterable[Argument], folder: Path) -> tuple[str, int]:
    """Write the arguments, and return the collection's digest and count."""
    digest = sha256()
    at = 0
    places: dict[bytes, tuple[int, int]] = {}
    seen: dict[bytes, bytes] = {}
    with (folder / ARGUMENTS).open("wb") as out:
        for argument in arguments:
            line = (files.argument_line(argument) + "\n").encode("utf-8")
            key = argument.id.encode("utf-8", "surrogatepass")
            content = sha256(line).digest()
            if key in seen:
                if seen[key] != content:
                    raise UserError(f"two different arguments have the id {argument.id!r}")
                continue
            seen[key] = content
            places[key] = (at, at + len(line))
            digest.update(line)
            at += out.write(line)
    if not places:
        raise UserError("the collection holds no argument")
    ids = sorted(places)
    np.save(folder / IDS, np.array(ids, dtype=f"S{max(map(len, ids))}"))
    np.save(folder / PLACES, np.array([places[key] for key in ids], dtype=np.uint64))
    return digest.hexdigest(), len(ids)


class Store:
    """Opened arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ids: Any = np.load(folder / IDS, mmap_mode="r")
        self._places: Any = np.load(folder / PLACES, mmap_mode="r")
        with (folder / ARGUMENTS).open("rb") as file:
            self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.get = lru_cache(REMEMBERED)(self._get)

    def __len__(self) -> int:
        return len(self._ids)

    def _get(self, argument_id: str) -> Argument | None:
        key = argument_id.encode("utf-8", "surrogatepass")
        if not key or key.endswith(b"\0") or len(key) > self._ids.dtype.itemsize:
            return None
        place = int(np.searchsorted(self._ids, np.bytes_(key)))
        if place >= len(self._ids) or bytes(self._ids[place]) != key:
            return None
        begin, end = (int(value) for value in self._places[place])
        return Argument.model_validate_json(self._lines[begin:end])

    def __iter__(self) -> Iterator[Argument]:
        return files.read_arguments(self.folder / ARGUMENTS)
