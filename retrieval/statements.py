"""Which texts and claims of a collection say the same: what chains of arguments hang on.

A statement is what an argument says, attacks or supports. Statements with the same words, or
nearly, are one group; a negation more or less makes another. Through a group, one argument is
linked with another: whoever attacks the group of its text attacks it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from retrieval.joining import Key, joined

STATEMENTS: Final = "statements"
"""The folder's name beside the inverted indexes."""
ROLES: Final = ("text", "attacks", "supports")
SIGNS: Final = (1, -1, 1)
"""On which side of the statement an argument in this role is."""


def key_of(words: Iterable[str]) -> Key:
    """Return what is the same for all statements with these words."""
    return tuple(sorted(set(words)))


class Gathering:
    """Collects the statements of arguments as they pass, then groups them."""

    def __init__(self) -> None:
        self._places: dict[Key, int] = {}
        self._rows = array("i")

    def add(self, keys: Mapping[str, Key]) -> None:
        """Take the keys of an argument's three statements."""
        for role in ROLES:
            key = keys[role]
            place = self._places.setdefault(key, len(self._places)) if key else -1
            self._rows.append(place)

    def write(self, numbers: Any, folder: Path) -> None:
        """Write the groups of the arguments, numbered as given in the order they were added."""
        number = joined(list(self._places))
        rows = np.frombuffer(self._rows, dtype=np.int32).reshape(-1, len(ROLES))
        groups = np.full_like(rows, -1)
        groups[numbers] = np.where(rows >= 0, number[rows], -1) if len(number) else -1
        flat = groups.reshape(-1)
        order = np.argsort(flat, kind="stable")[int((flat < 0).sum()) :]
        count = int(number.max()) + 2 if len(number) else 1
        folder.mkdir()
        np.save(folder / "groups.npy", groups)
        np.save(folder / "members.npy", order.astype(np.int32))
        np.save(folder / "starts.npy", np.searchsorted(flat[order], np.arange(count)))


class Statements:
    """The groups of an index's statements, mapped."""

    def __init__(self, folder: Path) -> None:
        self._groups: Any = np.load(folder / "groups.npy", mmap_mode="r")
        self._members: Any = np.load(folder / "members.npy", mmap_mode="r")
        self._starts: Any = np.load(folder / "starts.npy", mmap_mode="r")

    def linked(self, number: int) -> list[tuple[int, int, int, int]]:
        """Return who shares a statement with an argument: its role, their role, number, sign."""
        found = []
        for role, group in enumerate(self._groups[number].tolist()):
            if group < 0:
                continue
            for member in self._members[self._starts[group] : self._starts[group + 1]].tolist():
                other, theirs = divmod(member, len(ROLES))
                if other != number:
                    found.append((role, theirs, other, SIGNS[role] * SIGNS[theirs]))
        return found
