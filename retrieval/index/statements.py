"""Group the texts and claims of a collection that are equal or nearly equal statements."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """Yield candidate pairs, sorted by later place, its stem, and earlier place."""
    places = np.array([at for at, key in enumerate(keys) if 2 < len(key) <= LONGEST], dtype=int)
    if not len(places):
        return
    words, ordered = _by_rarity(keys, places)
    sizes = (words < len(ordered)).sum(axis=1)
    # Two similar statements share one of their rarest stems: compare those under the same stem.
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
    """Return the pairs of entries under the same stem with similar signatures.

    A stem that only one of two statements has changes at most one bit of the signatures, so pairs
    with too many different bits cannot be similar enough.
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
    """Return the stems of the statements at these places, and all stems; both rarest first.

    A stem is given by its place among all stems; rows are padded with the number of stems.
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
    """Return for each statement a number for the set of its negations."""
    bits = np.zeros(len(ordered) + 1, dtype=np.uint64)
    for mark, word in enumerate(word for word in ordered if word in NEGATION_STEMS):
        bits[ordered.index(word)] = np.uint64(1 << mark)
    return np.unique(_united(words, bits), return_inverse=True)[1]


def _signatures(words: Any, ordered: Sequence[str]) -> Any:
    """Return a 64-bit signature of each statement; each stem sets one bit."""
    bits = np.uint64(1) << (np.arange(len(ordered) + 1) % 64).astype(np.uint64)
    bits[-1] = 0
    return _united(words, bits)


def _united(words: Any, bits: Any) -> Any:
    blocks = (words[start : start + _BLOCK] for start in range(0, len(words), _BLOCK))
    return np.concatenate([np.bitwise_or.reduce(bits[block], axis=1) for block in blocks])


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
        self._places: dict[Key, int] = {}
        self._rows = array("i")

    def add(self, keys: Mapping[str, Key]) -> None:
        """Add the keys of an argument's three statements."""
        for role in ROLES:
            key = keys[role]
            place = self._places.setdefault(key, len(self._places)) if key else -1
            self._rows.append(place)

    def write(self, numbers: Any, folder: Path) -> None:
        """Write the groups of the arguments; `numbers` are their numbers in the order of adding."""
        number = groups_of(list(self._places))
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
