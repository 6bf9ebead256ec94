"""Which texts and claims of a collection say the same: what chains of arguments hang on.

A statement is what an argument says, attacks or supports. Statements with the same words, or
nearly, are one group; a negation more or less makes another. Through a group, one argument is
linked with another: whoever attacks the group of its text attacks it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from retrieval.analyser import tokens

STATEMENTS: Final = "statements"
"""The folder's name beside the inverted indexes."""
ROLES: Final = ("text", "attacks", "supports")
SIGNS: Final = (1, -1, 1)
"""On which side of the statement an argument in this role is."""
NEAR: Final = 0.7
"""The share of all words that two statements must have in common to be one."""
_LONGEST: Final = 40
"""Statements with more words than this are only joined when they are equal."""
_SHARED: Final = 100
"""A word that more statements start with is not looked up: too many share it."""
_NEGATIONS: Final = frozenset(
    tokens(
        "not no never none nothing neither nor nobody cannot without unless hardly isn't aren't "
        "wasn't weren't don't doesn't didn't won't wouldn't can't couldn't shouldn't hasn't "
        "haven't hadn't mustn't"
    )
)

Key = tuple[str, ...]


class Gathering:
    """Collects the statements of arguments as they pass, then groups them."""

    def __init__(self) -> None:
        self._places: dict[Key, int] = {}
        self._rows = array("i")

    def add(self, words: Mapping[str, Sequence[str]]) -> None:
        """Take the words of an argument's three statements."""
        for role in ROLES:
            key = tuple(sorted(set(words[role])))
            place = self._places.setdefault(key, len(self._places)) if key else -1
            self._rows.append(place)

    def write(self, numbers: Any, folder: Path) -> None:
        """Write the groups of the arguments, numbered as given in the order they were added."""
        joined = _joined(list(self._places))
        rows = np.frombuffer(self._rows, dtype=np.int32).reshape(-1, len(ROLES))
        groups = np.full_like(rows, -1)
        groups[numbers] = np.where(rows >= 0, joined[rows], -1) if len(joined) else -1
        flat = groups.reshape(-1)
        order = np.argsort(flat, kind="stable")[int((flat < 0).sum()) :]
        count = int(joined.max()) + 2 if len(joined) else 1
        folder.mkdir()
        np.save(folder / "groups.npy", groups)
        np.save(folder / "members.npy", order.astype(np.int32))
        np.save(folder / "starts.npy", np.searchsorted(flat[order], np.arange(count)))


def _joined(keys: Sequence[Key]) -> Any:
    """Return each key's group; near keys are joined through their rarest words."""
    often = Counter(word for key in keys for word in key)
    parent = list(range(len(keys)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    starting: dict[tuple[str, Key], list[int]] = {}
    for place, key in enumerate(keys):
        if not 2 < len(key) <= _LONGEST:
            continue
        words = frozenset(key)
        denied = tuple(sorted(words & _NEGATIONS))
        ordered = sorted(key, key=lambda word: (often[word], word))
        fewest, most = NEAR * len(key), len(key) / NEAR
        # Two sets that share so much share one of so many of their rarest words.
        for word in ordered[: len(key) - -(-len(key) * 7 // 10) + 1]:
            others = starting.setdefault((word, denied), [])
            if len(others) < _SHARED:
                own = root(place)
                for other in others:
                    key_ = keys[other]
                    if fewest <= len(key_) <= most and root(other) != own and _near(words, key_):
                        parent[own] = own = root(other)
                others.append(place)
    roots = np.fromiter(map(root, range(len(keys))), dtype=np.int32, count=len(keys))
    return np.unique(roots, return_inverse=True)[1].astype(np.int32)


def _near(words: frozenset[str], key: Key) -> bool:
    shared = len(words.intersection(key))
    return shared >= NEAR * (len(words) + len(key) - shared)


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
