"""Group the texts and claims of a collection that are equal or nearly equal statements.

Memory stays small for millions of arguments: stems are numbers, equal statements are found by
sorting digests, candidates are compared in parts, and all of these lie in temporary files.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

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
_CHUNK: Final = 1_000_000
"""Numbers of a file in memory at a time."""
_WAITING: Final = 1_500
"""Statements that are gathered at a time."""
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
    """Return the group of each key, numbered from 0 by their first statements."""
    known = _Numbers()
    flat = np.fromiter(map(known.__getitem__, chain.from_iterable(keys)), dtype=np.int32)
    return _grouped(list(known), flat, np.fromiter(map(len, keys), np.int32, count=len(keys)))


class _Numbers(dict[str, int]):
    """Numbers words by their first use."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def _array(count: int, dtype: Any) -> Any:
    """Return an array of zeros in a temporary file, which the system may write out."""
    if not count:
        return np.zeros(0, dtype)
    with tempfile.TemporaryFile() as file:
        # Without its space on the disk, a full disk would end the process when a page is written.
        os.posix_fallocate(file.fileno(), 0, count * np.dtype(dtype).itemsize)
        return np.memmap(file, dtype, "r+", shape=(count,))


def _mapped(file: IO[bytes], dtype: Any) -> Any:
    """Return the numbers in a file."""
    file.flush()
    return np.memmap(file, dtype, "r+") if os.fstat(file.fileno()).st_size else np.zeros(0, dtype)


def _ranges(count: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield the begin and end of parts of so many entries."""
    return ((at, min(at + step, count)) for at in range(0, count, step))


def _grouped(stems: Sequence[str], flat: Any, sizes: Any) -> Any:
    """Return the group of each statement: `flat` are the numbers of the stems of all of them."""
    parent = array("i")
    for begin, end in _ranges(len(sizes), _CHUNK):
        parent.frombytes(np.arange(begin, end, dtype=np.int32).tobytes())

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for place, other in _Statements(stems, flat, sizes).near():
        own, its = root(place), root(other)
        if own < its:
            parent[its] = own
        elif own > its:
            parent[own] = its
    roots = np.frombuffer(parent, dtype=np.int32)
    while not np.array_equal(roots, above := roots[roots]):
        roots = above
    firsts = roots == np.arange(len(roots), dtype=np.int32)
    return (np.cumsum(firsts, dtype=np.int32) - np.int32(1))[roots]


class _Statements:
    """Statements as the ranks of their stems, rarest first, one after the other.

    What has an entry for each statement or word lies in temporary files.
    """

    def __init__(self, stems: Sequence[str], flat: Any, sizes: Any) -> None:
        counts = np.zeros(len(stems), dtype=np.int64)
        for begin, end in _ranges(len(flat), _CHUNK):
            counts += np.bincount(flat[begin:end], minlength=len(stems))
        often = counts.tolist()
        ordered = sorted(range(len(stems)), key=lambda at: (often[at], stems[at]))
        rank = np.empty(len(stems), dtype=np.int32)
        rank[ordered] = np.arange(len(stems), dtype=np.int32)
        self._words = _array(len(flat), np.int32)
        for begin, end in _ranges(len(flat), _CHUNK):
            self._words[begin:end] = rank[flat[begin:end]]
        self._sizes = sizes
        self._starts = _array(len(sizes), np.int64)
        np.cumsum(sizes, dtype=np.int64, out=self._starts)
        self._starts -= sizes
        self._stems = [stems[at] for at in ordered]
        self._signatures = _array(len(sizes), np.uint64)
        self._denied = _array(len(sizes), np.int32)
        self._denials: dict[int, int] = {}

    def near(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of near statements."""
        for part in self._parts():
            later, earlier = self._near(part)
            yield from zip(later.tolist(), earlier.tolist(), strict=True)

    def _parts(self) -> Iterator[Any]:
        """Sort and sign all statements; yield their rarest stems with them, a range at a time.

        Two similar statements share one of their rarest stems: those under the same stem are
        compared. A range of stems has about `_PART` entries; an entry is a stem and a statement.
        """
        often = np.zeros(len(self._stems) + 1, dtype=np.int64)
        with tempfile.TemporaryFile() as file:
            for rows, words in self._signed():
                firsts = np.arange(words.shape[1]) < _rarest(self._sizes[rows])[:, None]
                often += np.bincount(words[firsts], minlength=len(often))
                entries = np.stack([words[firsts], rows[np.nonzero(firsts)[0]]], axis=1)
                entries.astype(np.int32).tofile(file)
            number = (np.cumsum(often) - 1).clip(0) // _PART
            yield from _divided(_mapped(file, np.int32).reshape(-1, 2), number)

    def _signed(self) -> Iterator[tuple[Any, Any]]:
        """Sort the stems of all statements and sign them; yield blocks of them."""
        count = len(self._stems)
        signs = np.uint64(1) << (np.arange(count + 1) % 64).astype(np.uint64)
        negations = np.zeros(count + 1, dtype=np.uint64)
        marked = [at for at, stem in enumerate(self._stems) if stem in NEGATION_STEMS]
        negations[marked] = np.uint64(1) << np.arange(len(marked), dtype=np.uint64)
        signs[-1] = 0
        for begin, end in _ranges(len(self._sizes), _BLOCK):
            sizes = self._sizes[begin:end]
            rows = begin + np.flatnonzero((sizes > 2) & (sizes <= LONGEST))
            words = self._matrix(rows, self._sizes[rows], sort=True)
            self._signatures[rows] = np.bitwise_or.reduce(signs[words], axis=1)
            denied = np.bitwise_or.reduce(negations[words], axis=1)
            distinct, at = np.unique(denied, return_inverse=True)
            known = self._denials
            numbers = [known.setdefault(one, len(known)) for one in distinct.tolist()]
            self._denied[rows] = np.array(numbers, dtype=np.int32)[at]
            yield rows, words

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

    def _near(self, entries: Any) -> tuple[Any, Any]:
        """Return the near pairs under a range of stems: the later and the earlier statements."""
        words, rows = entries[:, 0], entries[:, 1]
        bucket = words.astype(np.int64) * max(1, len(self._denials)) + self._denied[rows]
        order = np.argsort(bucket, kind="stable")
        depth = _since_change(bucket[order])
        rows, depth = rows[order[depth < SHARED]], depth[depth < SHARED]
        later, earlier = _alike(depth, self._sizes[rows], self._signatures[rows])
        later, earlier = rows[later], rows[earlier]
        kept = [
            self._are_near(later[begin:end], earlier[begin:end])
            for begin, end in _ranges(len(later), _BLOCK)
        ]
        near = np.concatenate([np.empty(0, dtype=bool), *kept])
        return later[near], earlier[near]

    def _are_near(self, one: Any, other: Any) -> Any:
        """Whether the pairs share enough of their stems."""
        sizes, others = self._sizes[one], self._sizes[other]
        both = np.concatenate([self._matrix(one, sizes), self._matrix(other, others)], axis=1)
        both.sort(axis=1)
        twice = (both[:, 1:] == both[:, :-1]) & (both[:, 1:] < len(self._stems))
        shared = twice.sum(axis=1)
        return shared >= NEAR * (sizes + others - shared)


def _rarest(sizes: Any) -> Any:
    """Return how many of its rarest stems a statement shares with a near one at least one of."""
    return sizes - -(-sizes * 7 // 10) + 1


def _divided(entries: Any, number: Any) -> Iterator[Any]:
    """Yield the entries of each range of stems, in order; `number` is that of each stem's range."""
    with ExitStack() as opened:
        files = [opened.enter_context(tempfile.TemporaryFile()) for _ in range(number[-1] + 1)]
        for begin, end in _ranges(len(entries), _CHUNK):
            numbers = number[entries[begin:end, 0]]
            part = entries[begin:end][np.argsort(numbers, kind="stable")]
            ends = np.cumsum(np.bincount(numbers, minlength=len(files)))
            for file, own in zip(files, np.split(part, ends[:-1]), strict=True):
                own.tofile(file)
        for file in files:
            yield np.array(_mapped(file, np.int32)).reshape(-1, 2)


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


class Gathered(NamedTuple):
    """Some statements, in a form that `StatementGroups` adds at once."""

    stems: Sequence[str]
    words: bytes
    """The distinct stems of each statement, one after the other, as places in `stems`."""
    sizes: bytes
    digests: bytes


def gather(statements: Iterable[Iterable[str]]) -> Gathered:
    """Gather statements, given by their stems."""
    known, words, sizes, digests = _Numbers(), array("i"), array("i"), bytearray()
    for stems in statements:
        key = sorted(set(stems))
        sizes.append(len(key))
        words.extend(map(known.__getitem__, key))
        digests += blake2b(" ".join(key).encode(), digest_size=16).digest()
    return Gathered(list(known), words.tobytes(), sizes.tobytes(), bytes(digests))


class StatementGroups:
    """Collects the statements of arguments, then groups them."""

    def __init__(self) -> None:
        self._stems = _Numbers()
        self._waiting: list[Iterable[str]] = []
        # The files are closed with this object.
        self._words = tempfile.TemporaryFile()  # noqa: SIM115
        self._sizes = tempfile.TemporaryFile()  # noqa: SIM115
        self._digests = tempfile.TemporaryFile()  # noqa: SIM115

    def add(self, statements: Sequence[Iterable[str]]) -> None:
        """Add an argument's three statements as their stems, in the order of `ROLES`."""
        self._waiting += statements
        if len(self._waiting) >= _WAITING:
            self.add_all(gather(self._waiting))
            self._waiting = []

    def add_all(self, gathered: Gathered) -> None:
        """Add the statements of some arguments."""
        numbers = np.array([self._stems[one] for one in gathered.stems], dtype=np.int32)
        self._words.write(numbers[np.frombuffer(gathered.words, np.int32)].tobytes())
        self._sizes.write(gathered.sizes)
        self._digests.write(gathered.digests)

    def write(self, numbers: Any, folder: Path) -> None:
        """Write the groups of the arguments; `numbers` are their numbers in the order of adding."""
        own = self.groups()
        groups = np.empty_like(own)
        groups[numbers] = own
        flat = groups.reshape(-1)
        order = np.argsort(flat, kind="stable")[int((flat < 0).sum()) :]
        count = int(flat.max(initial=-1)) + 2
        folder.mkdir()
        np.save(folder / "groups.npy", groups)
        np.save(folder / "members.npy", order.astype(np.int32))
        np.save(folder / "starts.npy", np.searchsorted(flat[order], np.arange(count)))

    def groups(self) -> Any:
        """Return the groups of each argument's statements; -1 for a blank one."""
        self.add_all(gather(self._waiting))
        self._waiting = []
        sizes, flat = _mapped(self._sizes, np.int32), _mapped(self._words, np.int32)
        first = _firsts(_mapped(self._digests, np.uint64).reshape(-1, 2))
        kept = np.zeros(len(sizes), dtype=bool)  # the first of equal statements, if not blank
        with tempfile.TemporaryFile() as words, tempfile.TemporaryFile() as lengths:
            done = 0
            for begin, end in _ranges(len(sizes), _CHUNK):
                own, count = sizes[begin:end], int(sizes[begin:end].sum(dtype=np.int64))
                kept[begin:end] = (first[begin:end] == np.arange(begin, end)) & (own > 0)
                flat[done : done + count][np.repeat(kept[begin:end], own)].tofile(words)
                own[kept[begin:end]].tofile(lengths)
                done += count
            number = _grouped(
                list(self._stems), _mapped(words, np.int32), _mapped(lengths, np.int32)
            )
        groups = np.full(len(sizes), -1, dtype=np.int32)
        places = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        for begin, end in _ranges(len(sizes), _CHUNK):
            said = sizes[begin:end] > 0
            groups[begin:end][said] = number[places[first[begin:end][said]]]
        return groups.reshape(-1, len(ROLES))


def _firsts(digests: Any) -> Any:
    """Return the place of the first digest that is equal to each."""
    found = _array(len(digests), np.int32)
    parts = np.uint64(1 + len(digests) // _CHUNK)
    for part in range(int(parts)):
        places = np.concatenate(
            [
                begin + np.flatnonzero(digests[begin:end, 0] % parts == part)
                for begin, end in _ranges(len(digests), _CHUNK)
            ]
            or [np.empty(0, dtype=np.int64)]
        )
        own = digests[places]
        order = np.lexsort(own.T)
        changed = np.ones(len(order), dtype=bool)
        changed[1:] = (own[order[1:]] != own[order[:-1]]).any(axis=1)
        leaders = np.maximum.accumulate(np.where(changed, np.arange(len(order)), 0))
        found[places[order]] = places[order[leaders]]
    return found


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
