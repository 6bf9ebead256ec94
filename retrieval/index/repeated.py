"""Documents that say the same stand once in an inverted index, and are told apart afterwards.

Many arguments attack one claim, so that a field of claims repeats itself: each of its texts is
searched once, and a found text stands for all the documents that have it.
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
"""Where more of the documents than this differ, standing once would gain nothing."""


class Repeats:
    """Which documents say the same, gathered in the order in which they come."""

    def __init__(self, documents: Iterable[tuple[int, str]]) -> None:
        known: dict[bytes, int] = {}
        self._numbers, self._texts = array("q"), array("q")
        for number, words in documents:
            key = blake2b(words.encode("utf-8"), digest_size=16).digest()
            self._numbers.append(number)
            self._texts.append(known.setdefault(key, len(known)))
        self._distinct = len(known)

    @property
    def many(self) -> bool:
        """Whether it pays to let equal documents stand once."""
        return self._distinct <= WORTH_IT * len(self._numbers)

    def once(self, documents: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Of the documents, come again, yield each text once, numbered in the order of texts."""
        seen = 0
        for text, (_, words) in zip(self._texts, documents, strict=True):
            if text == seen:
                seen += 1
                yield text, words

    def again(self, documents: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Yield what `once` leaves out."""
        seen = 0
        for text, document in zip(self._texts, documents, strict=True):
            if text == seen:
                seen += 1
            else:
                yield document

    def write(self, folder: Path) -> None:
        """Write which documents have each text."""
        texts, numbers = np.asarray(self._texts), np.asarray(self._numbers)
        order = np.lexsort((numbers, texts))
        np.save(folder / MEMBERS, numbers[order].astype(np.int32))
        np.save(folder / STARTS, np.searchsorted(texts[order], np.arange(self._distinct + 1)))


class Members:
    """The documents of each text of an opened index, in the order of their numbers."""

    def __init__(self, folder: Path) -> None:
        told = (folder / MEMBERS).is_file()
        self._members: Any = _mapped(folder / MEMBERS) if told else None
        self._starts: Any = _mapped(folder / STARTS) if told else None

    def first(self, text: int, k: int) -> list[int]:
        """Return the first `k` documents that have a text; in an index of all, it is the one."""
        if self._members is None:
            return [text]
        start, end = self._starts[text : text + 2].tolist()
        found: list[int] = self._members[start : min(end, start + k)].tolist()
        return found


def _mapped(path: Path) -> Any:
    """Map an array, without what makes the slices of a mapped one slow."""
    return np.asarray(np.load(path, mmap_mode="r"))
