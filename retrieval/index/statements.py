"""Group the texts and claims of a collection that are equal or nearly equal statements."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
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
_BLOCK: Final = 100_000
_CONTRACTIONS: Final = (
    "isn't aren't wasn't weren't don't doesn't didn't won't wouldn't can't couldn't shouldn't "
    "hasn't haven't hadn't mustn't"
)
# "unless" negates no word, but two claims that differ by it are not equal.
NEGATION_STEMS: Final = frozenset(tokens(f"{' '.join(NEGATIONS)} unless {_CONTRACTIONS}"))

STATEMENTS: Final = "statements"
"""The name of the folder in an index."""
ROLES: Final = ("text", "attacks", "supports")
SIGNS: Final = (1, -1, 1)
"""1 if an argument in this role is for the statement, -1 if it is against it."""


def groups_of(keys: Sequence[Key]) -> Any:
    """Return the group of each key, numbered from 0 by their first statements."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    later, earlier = _near_pairs(keys)
    edges = np.ones(len(later), dtype=bool)
    pairs = coo_matrix((edges, (later, earlier)), shape=(len(keys), len(keys)))
    labels = connected_components(pairs, directed=False)[1] if keys else np.zeros(0, np.int32)
    _, firsts, own = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(firsts))[own].astype(np.int32)


def _near_pairs(keys: Sequence[Key]) -> tuple[Any, Any]:
    """Return the pairs of near statements: the later and the earlier ones.

    Two similar statements share one of their rarest stems: those under the same stem are compared.
    They must have the same negations.
    """
    rows = np.array([at for at, key in enumerate(keys) if 2 < len(key) <= LONGEST], np.int64)
    if not len(rows):
        return rows, rows
    often = Counter(chain.from_iterable(keys))
    stems = sorted(often, key=lambda stem: (often[stem], stem))
    rank = {stem: at for at, stem in enumerate(stems)}
    sizes = np.array([len(keys[at]) for at in rows])
    ends = np.cumsum(sizes)
    starts = ends - sizes
    words = np.fromiter(
        chain.from_iterable(sorted(map(rank.__getitem__, keys[at])) for at in rows), np.int64
    )
    signs = np.uint64(1) << (words % 64).astype(np.uint64)
    negations = np.zeros(len(stems), dtype=np.uint64)
    marked = [at for at, stem in enumerate(stems) if stem in NEGATION_STEMS]
    negations[marked] = np.uint64(1) << np.arange(len(marked), dtype=np.uint64)
    denied = np.bitwise_or.reduceat(negations[words], starts)
    kinds, kind = np.unique(denied, return_inverse=True)

    rarest = sizes - -(-sizes * 7 // 10) + 1
    first = np.arange(len(words)) - np.repeat(starts, sizes) < np.repeat(rarest, sizes)
    owner = np.repeat(np.arange(len(rows)), sizes)[first]
    bucket = words[first] * len(kinds) + kind[owner]
    order = np.argsort(bucket, kind="stable")
    depth = _since_change(bucket[order])
    owner, depth = owner[order[depth < SHARED]], depth[depth < SHARED]
    signatures = np.bitwise_or.reduceat(signs, starts)
    later, earlier = (owner[one] for one in _alike(depth, sizes[owner], signatures[owner]))
    near = _are_near(words, sizes, ends, later, earlier)
    return rows[later[near]], rows[earlier[near]]


def _since_change(values: Any) -> Any:
    """Return the number of equal values directly before each value."""
    places = np.arange(len(values))
    changed = np.r_[True, values[1:] != values[:-1]]
    return places - np.maximum.accumulate(np.where(changed, places, 0))


def _alike(depth: Any, sizes: Any, signatures: Any) -> Any:
    """Return the pairs of entries under the same stem with similar signatures.

    A stem that only one of two statements has changes at most one bit of the signatures, so pairs
    with too many different bits cannot be similar enough.
    """
    bits = np.array([number.bit_count() for number in range(2**16)], dtype=np.uint8)
    pairs = [np.empty((2, 0), dtype=np.int64)]
    later = np.arange(len(depth))
    for apart in range(1, int(depth.max(initial=0)) + 1):
        later = later[depth[later] >= apart]
        earlier = later - apart
        most = (1 - 2 * NEAR / (1 + NEAR)) * (sizes[later] + sizes[earlier]) + 1e-6
        different = (signatures[later] ^ signatures[earlier]).view(np.uint16).reshape(-1, 4)
        alike = bits[different].sum(axis=1) <= most
        pairs.append(np.stack([later[alike], earlier[alike]]))
    return np.concatenate(pairs, axis=1)


def _are_near(words: Any, sizes: Any, ends: Any, later: Any, earlier: Any) -> Any:
    """Whether the pairs share enough of their stems."""
    from scipy.sparse import csr_matrix

    held = csr_matrix((np.ones(len(words), dtype=np.int32), words, np.r_[0, ends]))
    near = [np.empty(0, dtype=bool)]
    for start in range(0, len(later), _BLOCK):
        one, other = later[start : start + _BLOCK], earlier[start : start + _BLOCK]
        shared = np.asarray(held[one].multiply(held[other]).sum(axis=1)).reshape(-1)
        near.append(shared >= NEAR * (sizes[one] + sizes[other] - shared))
    return np.concatenate(near)


class StatementGroups:
    """Collects the statements of arguments, then groups them."""

    def __init__(self) -> None:
        self._keys: dict[Key, int] = {}
        self._places = array("i")

    def add(self, statements: Iterable[Iterable[str]]) -> None:
        """Add an argument's three statements as their stems, in the order of `ROLES`."""
        for stems in statements:
            key = tuple(sorted(set(stems)))
            self._places.append(self._keys.setdefault(key, len(self._keys)) if key else -1)

    def groups(self) -> Any:
        """Return the groups of each argument's statements; -1 for a blank one."""
        numbers = np.append(groups_of(list(self._keys)), np.int32(-1))
        return numbers[np.array(self._places, dtype=np.int64)].reshape(-1, len(ROLES))

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


class Statements:
    """The groups of an index's statements, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        self._groups: Any = np.load(folder / "groups.npy", mmap_mode="r")
        self._members: Any = np.load(folder / "members.npy", mmap_mode="r")
        self._starts: Any = np.load(folder / "starts.npy", mmap_mode="r")

    def linked(self, number: int) -> list[tuple[int, int, int]]:
        """Return the arguments that share a statement: role, their role, their number."""
        links = []
        for role, group in enumerate(self._groups[number].tolist()):
            if group < 0:
                continue
            for member in self._members[self._starts[group] : self._starts[group + 1]].tolist():
                other, theirs = divmod(member, len(ROLES))
                if other != number:
                    links.append((role, theirs, other))
        return links
