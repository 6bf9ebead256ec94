"""The ids of a collection, to find repeated ones in little memory."""

from __future__ import annotations

from array import array
from typing import Final

_SLOTS: Final = 1 << 10
_FULL: Final = 0.8
_CONTENT: Final = (1 << 32) - 1
_KEY: Final = (1 << 64) - 1


class SeenIds:
    """Hashes of ids with hashes of their contents: 15 to 30 bytes per id.

    Two of ten million ids have the same hash with a probability of 3 in a million; the second one
    is then reported as a repeated id.
    """

    def __init__(self) -> None:
        self._keys = array("Q", bytes(8 * _SLOTS))
        self._contents = array("I", bytes(4 * _SLOTS))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, name: str, content: int) -> bool | None:
        """Add an id; if it is known, return whether it had the same content."""
        key = hash(name) & _KEY or 1
        place = self._place(key)
        if self._keys[place]:
            return self._contents[place] == content & _CONTENT
        self._keys[place] = key
        self._contents[place] = content & _CONTENT
        self._count += 1
        if self._count > _FULL * len(self._keys):
            self._grow()
        return None

    def _place(self, key: int) -> int:
        """Return the place of a key, or the free one for it."""
        keys = self._keys
        last = len(keys) - 1
        place = key & last
        while keys[place] and keys[place] != key:
            place = (place + 1) & last
        return place

    def _grow(self) -> None:
        keys, contents = self._keys, self._contents
        self._keys = array("Q", bytes(16 * len(keys)))
        self._contents = array("I", bytes(8 * len(keys)))
        for key, content in zip(keys, contents, strict=True):
            if key:
                place = self._place(key)
                self._keys[place], self._contents[place] = key, content
