"""Group the texts and claims of a collection that are equal or nearly equal statements.

Memory stays small for millions of arguments: stems are numbers in a temporary file, equal
statements are found by sorting digests, and candidates are compared in parts.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from retrieval.index.analyser import tokens
from touche_rad.text import NEGATIONS

Key = tuple[str, ...]
"""The sorted distinct stems of a statement."""

NEAR: Final = 0.7
"""Minimum Jaccard similarity of the stems of two nearly equal statements."""
LONGEST: Final = 40
"""Longer statements are grouped only if they are equal."""
SHARED = 100
"""Maximum number of statements that are compared under one of their rarest stems."""
_BLOCK: Final = 32_768
_PART: Final = 2_000_000
"""Entries (a statement under one of its rarest stems) that are compared at a time."""
_ONE, _TWO, _FOUR, _TOP = (np.uint64(number) for number in (1, 2, 4, 56))
_PAIRS, _FOURS, _BYTES, _SUM = (
    np.uint64(int(digits * 8, 16)) for digits in ("55", "33", "0f", "01")
)
_CONTRACTIONS: Final = (
    "isn't aren't wasn't weren't don't doesn't didn't won't wouldn't can't couldn't shouldn't "
    "hasn't haven't hadn't mustn't"
)
# "unless" negates no word, but two claims that differ by it are not equal.
NEGATION_STEMS: Final = frozenset(tokens(f"{' '.join(NEGATIONS)} unless {_CONTRACTIONS}"))


def groups_of(keys: Sequence[Key]) -> Any:
    """Return the group of each key, numbered from 0."""
    known: dict[str, int] = {}
    numbers = (known.setdefault(word, len(known)) for word in chain.from_iterable(keys))
    flat = np.fromiter(numbers, dtype=np.int32)
    return _grouped(list(known), flat, np.fromiter(map(len, keys), np.int32, count=len(keys)))


def _grouped(stems: Sequence[str], flat: Any, sizes: Any) -> Any:
    """Return the group of each statement: `flat` are the numbers of the stems of all of them."""
    parent = array("i", range(len(sizes)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for place, other in _Statements(stems, flat, sizes).near():
        own, its = root(place), root(other)
        if own != its:
            parent[own] = its
    roots = np.array(parent, dtype=np.int32)
    while not np.array_equal(roots, above := roots[roots]):
        roots = above
    return np.unique(roots, return_inverse=True)[1].astype(np.int32)


class _Statements:
    """Statements as the ranks of their stems, rarest first, one after the other."""

    def __init__(self, stems: Sequence[str], flat: Any, sizes: Any) -> None:
        often = np.bincount(flat, minlength=len(stems)).tolist()
        ordered = sorted(range(len(stems)), key=lambda at: (often[at], stems[at]))
        rank = np.empty(len(stems), dtype=np.int32)
        rank[ordered] = np.arange(len(stems), dtype=np.int32)
        self._words = rank[flat]
        self._sizes = sizes
        self._starts = np.cumsum(sizes, dtype=np.int64) - sizes
        self._stems = [stems[at] for at in ordered]
        self._rows = np.flatnonzero((sizes > 2) & (sizes <= LONGEST)).astype(np.int32)
        # Two similar statements share one of their rarest stems: compare those under the same stem.
        self._first = sizes - -(-sizes * 7 // 10) + 1
        self._signatures = np.zeros(len(sizes), dtype=np.uint64)
        self._denied = np.zeros(len(sizes), dtype=np.int32)

    def near(self) -> Iterator[tuple[int, int]]:
        """Yield near pairs, sorted by later statement, its stem, and earlier statement."""
        if not len(self._rows):
            return
        found = [self._near(*bounds) for bounds in self._parts()]
        later, turn, depth, earlier = np.concatenate(found, axis=1)
        order = np.lexsort((depth, turn, later))
        yield from zip(later[order].tolist(), earlier[order].tolist(), strict=True)

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Sort and sign all statements; yield ranges of stems with about `_PART` entries."""
        count = len(self._stems)
        signs = np.uint64(1) << (np.arange(count + 1) % 64).astype(np.uint64)
        negations = np.zeros(count + 1, dtype=np.uint64)
        marked = [at for at, stem in enumerate(self._stems) if stem in NEGATION_STEMS]
        negations[marked] = np.uint64(1) << np.arange(len(marked), dtype=np.uint64)
        signs[-1] = 0
        entries = np.zeros(count + 1, dtype=np.int64)
        denied = np.zeros(len(self._sizes), dtype=np.uint64)
        for rows in self._blocks():
            words = self._matrix(rows, self._sizes[rows], sort=True)
            self._signatures[rows] = np.bitwise_or.reduce(signs[words], axis=1)
            denied[rows] = np.bitwise_or.reduce(negations[words], axis=1)
            firsts = np.arange(words.shape[1]) < self._first[rows][:, None]
            entries += np.bincount(words[firsts], minlength=count + 1)
        self._denied = np.unique(denied, return_inverse=True)[1].astype(np.int32)
        begin = filled = 0
        for at in np.flatnonzero(entries).tolist():
            if filled and filled + entries[at] > _PART:
                yield begin, at
                begin, filled = at, 0
            filled += int(entries[at])
        yield begin, count

    def _blocks(self) -> Iterator[Any]:
        return (self._rows[at : at + _BLOCK] for at in range(0, len(self._rows), _BLOCK))

    def _matrix(self, rows: Any, sizes: Any, *, sort: bool = False) -> Any:
        """Return the first stems of statements, padded with the number of stems."""
        taken = np.arange(int(sizes.max(initial=0))) < sizes[:, None]
        places = (self._starts[rows][:, None] + np.arange(taken.shape[1]))[taken]
        words = np.full(taken.shape, len(self._stems), dtype=np.int32)
        words[taken] = self._words[places]
        if sort:
            words.sort(axis=1)
            self._words[places] = words[taken]
        return words

    def _near(self, begin: int, end: int) -> Any:
        """Return the near pairs under a range of stems, with what sorts them."""
        parts = []
        for rows in self._blocks():
            words = self._matrix(rows, self._first[rows])
            at, turns = np.nonzero((words >= begin) & (words < end))
            parts.append((rows[at], turns.astype(np.int32), words[at, turns]))
        rows, turns, words = (np.concatenate(column) for column in zip(*parts, strict=True))
        bucket = words.astype(np.int64) * (int(self._denied.max()) + 1) + self._denied[rows]
        order = np.argsort(bucket, kind="stable")
        depth = _since_change(bucket[order])
        order, depth = order[depth < SHARED], depth[depth < SHARED]
        rows, turns = rows[order], turns[order]
        later, earlier = _alike(depth, self._sizes[rows], self._signatures[rows])
        found = np.stack(
            [rows[later], turns[later], depth[earlier].astype(np.int32), rows[earlier]]
        )
        kept = [
            self._are_near(found[0, at : at + _BLOCK], found[3, at : at + _BLOCK])
            for at in range(0, found.shape[1], _BLOCK)
        ]
        return found[:, np.concatenate([np.empty(0, dtype=bool), *kept])]

    def _are_near(self, one: Any, other: Any) -> Any:
        """Whether the pairs share enough of their stems."""
        sizes, others = self._sizes[one], self._sizes[other]
        both = np.concatenate([self._matrix(one, sizes), self._matrix(other, others)], axis=1)
        both.sort(axis=1)
        twice = (both[:, 1:] == both[:, :-1]) & (both[:, 1:] < len(self._stems))
        shared = twice.sum(axis=1)
        return shared >= NEAR * (sizes + others - shared)


def _alike(depth: Any, sizes: Any, signatures: Any) -> Any:
    """Return the pairs of entries under the same stem with similar signatures.

    A stem that only one of two statements has changes at most one bit of the signatures, so pairs
    with too many different bits cannot be similar enough.
    """
    found = [np.empty((2, 0), dtype=np.int64)]
    later = np.arange(len(depth))
    for apart in range(1, int(depth.max(initial=0)) + 1):
        later = later[depth[later] >= apart]
        earlier = later - apart
        together = sizes[later] + sizes[earlier]
        most = (1 - 2 * NEAR / (1 + NEAR)) * together + 1e-6
        alike = _marks(signatures[later] ^ signatures[earlier]) <= most
        found.append(np.stack([later[alike], earlier[alike]]))
    return np.concatenate(found, axis=1)


def _since_change(values: Any) -> Any:
    """Return the number of equal values directly before each value."""
    places = np.arange(len(values))
    changed = np.r_[True, values[1:] != values[:-1]]
    return places - np.maximum.accumulate(np.where(changed, places, 0))


def _marks(signatures: Any) -> Any:
    """Count the bits of each signature."""
    found = signatures - ((signatures >> _ONE) & _PAIRS)
    found = (found & _FOURS) + ((found >> _TWO) & _FOURS)
    return (((found + (found >> _FOUR)) & _BYTES) * _SUM) >> _TOP


STATEMENTS: Final = "statements"
"""The name of the folder in an index."""
ROLES: Final = ("text", "attacks", "supports")
SIGNS: Final = (1, -1, 1)
"""1 if an argument in this role is for the statement, -1 if it is against it."""


def key_of(words: Iterable[str]) -> Key:
    """Return the key of a statement with these stems."""
    return tuple(sorted(set(words)))


class StatementGroups:
    """Collects the statements of arguments, then groups them."""

    def __init__(self) -> None:
        self._stems: dict[str, int] = {}
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 (closed with this object)
        self._sizes = array("i")
        self._digests = array("Q")

    def add(self, keys: Mapping[str, Key]) -> None:
        """Add the keys of an argument's three statements."""
        for role in ROLES:
            key, stems = keys[role], self._stems
            self._sizes.append(len(key))
            self._digests.frombytes(blake2b(" ".join(key).encode(), digest_size=16).digest())
            self._words.write(array("i", [stems.setdefault(one, len(stems)) for one in key]))

    def write(self, numbers: Any, folder: Path) -> None:
        """Write the groups of the arguments; `numbers` are their numbers in the order of adding."""
        groups = np.full((len(self._sizes) // len(ROLES), len(ROLES)), -1, dtype=np.int32)
        groups[numbers] = self._grouped().reshape(groups.shape)
        flat = groups.reshape(-1)
        order = np.argsort(flat, kind="stable")[int((flat < 0).sum()) :]
        count = int(flat.max(initial=-1)) + 2
        folder.mkdir()
        np.save(folder / "groups.npy", groups)
        np.save(folder / "members.npy", order.astype(np.int32))
        np.save(folder / "starts.npy", np.searchsorted(flat[order], np.arange(count)))

    def _grouped(self) -> Any:
        """Return the group of each statement that was added; -1 for a blank one."""
        self._words.flush()
        flat: Any = np.memmap(self._words, np.int32, "r") if self._stems else np.empty(0, np.int32)
        sizes = np.frombuffer(self._sizes, dtype=np.int32)
        place, first = _distinct(np.frombuffer(self._digests, dtype=np.uint64).reshape(-1, 2))
        if len(first) and not sizes[first].all():  # the blank statement is no statement
            blank = int(np.flatnonzero(sizes[first] == 0)[0])
            place = np.where(place == blank, -1, place - (place > blank))
            first = np.delete(first, blank)
        kept = np.zeros(len(sizes), dtype=bool)
        kept[first] = True
        number = _grouped(list(self._stems), flat[np.repeat(kept, sizes)], sizes[kept])
        return np.where(place >= 0, number[place], -1) if len(number) else place


def _distinct(digests: Any) -> tuple[Any, Any]:
    """Return the place of each digest among the distinct ones, and where each is first."""
    order = np.lexsort(digests.T)
    changed = np.ones(len(order), dtype=bool)
    changed[1:] = (digests[order[1:]] != digests[order[:-1]]).any(axis=1)
    first = order[changed]
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = rank[np.cumsum(changed) - 1]
    return place, np.sort(first)


class Statements:
    """The groups of an index's statements, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        self._groups: Any = np.load(folder / "groups.npy", mmap_mode="r")
        self._members: Any = np.load(folder / "members.npy", mmap_mode="r")
        self._starts: Any = np.load(folder / "starts.npy", mmap_mode="r")

    def linked(self, number: int) -> list[tuple[int, int, int, int]]:
        """Return the arguments that share a statement: role, their role, their number, sign."""
        found = []
        for role, group in enumerate(self._groups[number].tolist()):
            if group < 0:
                continue
            for member in self._members[self._starts[group] : self._starts[group + 1]].tolist():
                other, theirs = divmod(member, len(ROLES))
                if other != number:
                    found.append((role, theirs, other, SIGNS[role] * SIGNS[theirs]))
        return found
