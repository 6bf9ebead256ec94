"""Store equal documents once in an inverted index, and map each hit to all of its documents.

Many arguments attack the same claim, so a field of claims has many equal texts. Each distinct text
is indexed once; a hit stands for all documents with that text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np

MEMBERS, STARTS = "members.npy", "starts.npy"
WORTH_IT: Final = 0.8
"""If a larger share of the documents is distinct, nothing is gained."""


class Repeats:
    """Groups equal documents."""

    def __init__(self, documents: Iterable[tuple[int, str]]) -> None:
        known: dict[bytes, int] = {}
        self._numbers, self._texts = array("q"), array("q")
        for number, words in documents:
            key = blake2b(words.encode("utf-8"), digest_size=16).digest()
            self._numbers.append(number)
            self._texts.append(known.setdefault(key, len(known)))
        self._count = len(known)

    @property
    def many(self) -> bool:
        """Whether storing equal documents once pays off."""
        return self._count <= WORTH_IT * len(self._numbers)

    def distinct(self, documents: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Yield each distinct text of the same documents once, numbered from 0."""
        seen = 0
        for text, (_, words) in zip(self._texts, documents, strict=True):
            if text == seen:
                seen += 1
                yield text, words

    def repetitions(self, documents: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Yield the documents that `distinct` leaves out."""
        seen = 0
        for text, document in zip(self._texts, documents, strict=True):
            if text == seen:
                seen += 1
            else:
                yield document

    def write(self, folder: Path) -> None:
        """Write the documents of each text."""
        texts, numbers = np.asarray(self._texts), np.asarray(self._numbers)
        order = np.lexsort((numbers, texts))
        np.save(folder / MEMBERS, numbers[order].astype(np.int32))
        np.save(folder / STARTS, np.searchsorted(texts[order], np.arange(self._count + 1)))


class Members:
    """The documents of each text of an opened index, sorted by number."""

    def __init__(self, folder: Path) -> None:
        grouped = (folder / MEMBERS).is_file()
        self._members: Any = _mapped(folder / MEMBERS) if grouped else None
        self._starts: Any = _mapped(folder / STARTS) if grouped else None

    def first(self, text: int, k: int) -> list[int]:
        """Return the first `k` documents with a text; without grouping, its own number."""
        if self._members is None:
            return [text]
        start, end = self._starts[text : text + 2].tolist()
        found: list[int] = self._members[start : min(end, start + k)].tolist()
        return found


def _mapped(path: Path) -> Any:
    """Map an array as a plain ndarray: slices of a memmap object are slow."""
    return np.asarray(np.load(path, mmap_mode="r"))
