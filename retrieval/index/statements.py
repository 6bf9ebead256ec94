"""Which texts and claims of a collection say the same, word for word or nearly."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from retrieval.index.analyser import tokens

Key = tuple[str, ...]
"""The words of a statement, each once, in order."""

NEAR: Final = 0.7
"""The share of all words that two statements must have in common to be one."""
LONGEST: Final = 40
"""Statements with more words than this are only joined when they are equal."""
SHARED = 100
"""A word that more statements start with is not looked up: too many share it."""
_BLOCK: Final = 32_768
_ONE, _TWO, _FOUR, _TOP = (np.uint64(number) for number in (1, 2, 4, 56))
_PAIRS, _FOURS, _BYTES, _SUM = (
    np.uint64(int(digits * 8, 16)) for digits in ("55", "33", "0f", "01")
)
NEGATIONS: Final = frozenset(
    tokens(
        "not no never none nothing neither nor nobody cannot without unless hardly isn't aren't "
        "wasn't weren't don't doesn't didn't won't wouldn't can't couldn't shouldn't hasn't "
        "haven't hadn't mustn't"
    )
)


def joined(keys: Sequence[Key]) -> Any:
    """Return each key's group, numbered from 0."""
    parent = list(range(len(keys)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for place, other in _pairs(keys):
        own, its = root(place), root(other)
        if own != its and _near(keys[place], keys[other]):
            parent[own] = its
    roots = np.fromiter(map(root, range(len(keys))), dtype=np.int32, count=len(keys))
    return np.unique(roots, return_inverse=True)[1].astype(np.int32)


def _near(one: Key, other: Key) -> bool:
    if not NEAR * len(one) <= len(other) <= len(one) / NEAR:
        return False
    shared = len(set(one).intersection(other))
    return shared >= NEAR * (len(one) + len(other) - shared)


def _pairs(keys: Sequence[Key]) -> Iterator[tuple[int, int]]:
    """Yield the pairs that may be near: by the place of the later, its word, and the earlier."""
    places = np.array([at for at, key in enumerate(keys) if 2 < len(key) <= LONGEST], dtype=int)
    if not len(places):
        return
    words, ordered = _by_rarity(keys, places)
    sizes = (words < len(ordered)).sum(axis=1)
    # Under each of its rarest words a statement stands beside the earlier ones with that word.
    first = sizes - -(-sizes * 7 // 10) + 1
    rows, turns = np.nonzero(np.arange(words.shape[1]) < first[:, None])
    denied = _denied(words, ordered)
    bucket = words[rows, turns] * (denied.max() + 1) + denied[rows]
    order = np.argsort(bucket, kind="stable")
    depth = _since_change(bucket[order])
    order, depth = order[depth < SHARED], depth[depth < SHARED]
    rows, turns = rows[order], turns[order]
    found = _alike(depth, sizes[rows], _signatures(words, ordered)[rows])
    later, earlier = found[:, np.lexsort((depth[found[1]], turns[found[0]], rows[found[0]]))]
    yield from zip(places[rows[later]].tolist(), places[rows[earlier]].tolist(), strict=True)


def _alike(depth: Any, sizes: Any, signatures: Any) -> Any:
    """Return the pairs of entries with the same word whose signatures do not part them.

    Each word that only one of two statements has changes one mark of their signatures at most.
    """
    found = [np.empty((2, 0), dtype=np.int64)]
    later = np.arange(len(depth))
    for apart in range(1, int(depth.max()) + 1):
        later = later[depth[later] >= apart]
        earlier = later - apart
        together = sizes[later] + sizes[earlier]
        most = (1 - 2 * NEAR / (1 + NEAR)) * together + 1e-6
        alike = _marks(signatures[later] ^ signatures[earlier]) <= most
        found.append(np.stack([later[alike], earlier[alike]]))
    return np.concatenate(found, axis=1)


def _by_rarity(keys: Sequence[Key], places: Any) -> tuple[Any, list[str]]:
    """Return the words of the statements at these places and all words, the rarest first.

    A word is its place among all; a row is filled up with their count.
    """
    known: dict[str, int] = {}
    sizes = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
    numbers = (known.setdefault(word, len(known)) for word in chain.from_iterable(keys))
    flat = np.fromiter(numbers, dtype=np.int32, count=int(sizes.sum()))
    often = np.bincount(flat, minlength=len(known)).tolist()
    ordered = sorted(known, key=lambda word: (often[known[word]], word))
    rank = np.empty(len(known), dtype=np.int32)
    rank[[known[word] for word in ordered]] = np.arange(len(known), dtype=np.int32)
    chosen = np.zeros(len(keys), dtype=bool)
    chosen[places] = True
    words = np.full((len(places), int(sizes[places].max())), len(known), dtype=np.int32)
    words[np.arange(words.shape[1]) < sizes[places][:, None]] = rank[flat[np.repeat(chosen, sizes)]]
    words.sort(axis=1)
    return words.astype(np.int64), ordered


def _denied(words: Any, ordered: Sequence[str]) -> Any:
    """Return for each statement a number that those with the same negations share."""
    bits = np.zeros(len(ordered) + 1, dtype=np.uint64)
    for mark, word in enumerate(word for word in ordered if word in NEGATIONS):
        bits[ordered.index(word)] = np.uint64(1 << mark)
    return np.unique(_united(words, bits), return_inverse=True)[1]


def _signatures(words: Any, ordered: Sequence[str]) -> Any:
    """Return 64 marks for each statement; each word makes one, often used ones different ones."""
    bits = np.uint64(1) << (np.arange(len(ordered) + 1) % 64).astype(np.uint64)
    bits[-1] = 0
    return _united(words, bits)


def _united(words: Any, bits: Any) -> Any:
    blocks = (words[start : start + _BLOCK] for start in range(0, len(words), _BLOCK))
    return np.concatenate([np.bitwise_or.reduce(bits[block], axis=1) for block in blocks])


def _since_change(values: Any) -> Any:
    """Return how many equal values stand right before each."""
    places = np.arange(len(values))
    changed = np.r_[True, values[1:] != values[:-1]]
    return places - np.maximum.accumulate(np.where(changed, places, 0))


def _marks(signatures: Any) -> Any:
    """Count the marks of each signature."""
    found = signatures - ((signatures >> _ONE) & _PAIRS)
    found = (found & _FOURS) + ((found >> _TWO) & _FOURS)
    return (((found + (found >> _FOUR)) & _BYTES) * _SUM) >> _TOP


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
