"""Group the texts and claims of a collection that are equal or nearly equal statements."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from retrieval._arrays import Array
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
_BLOCK: Final = 10_000
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


def groups_of(keys: Sequence[Key]) -> Array:
    """Return the group of each key, numbered from 0 by their first statements."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    one, other = _near_pairs(keys)
    edges = np.ones(len(one), dtype=bool)
    pairs = coo_matrix((edges, (one, other)), shape=(len(keys), len(keys)))
    labels = connected_components(pairs, directed=False)[1] if keys else np.zeros(0, np.int32)
    _, firsts, own = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(firsts))[own].astype(np.int32)


def _near_pairs(keys: Sequence[Key]) -> tuple[Array, Array]:
    """Return the pairs of near statements.

    Two similar statements share one of their rarest stems: those under the same stem are compared.
    They must have the same negations.
    """
    from scipy.sparse import triu

    rows = np.array([at for at, key in enumerate(keys) if 2 < len(key) <= LONGEST], np.int64)
    often = Counter(chain.from_iterable(keys))
    rank = {stem: at for at, stem in enumerate(sorted(often, key=lambda one: (often[one], one)))}
    counts: Counter[tuple[str, Key]] = Counter()
    buckets: dict[tuple[str, Key], int] = {}
    words, under = [], []
    for key in (keys[at] for at in rows):
        stems = sorted(key, key=rank.__getitem__)
        negations = tuple(stem for stem in stems if stem in NEGATION_STEMS)
        rarest = [(stem, negations) for stem in stems[: len(stems) - -(-len(stems) * 7 // 10) + 1]]
        words.append([rank[stem] for stem in stems])
        compared = [one for one in rarest if counts[one] < SHARED]
        under.append([buckets.setdefault(one, len(buckets)) for one in compared])
        counts.update(rarest)
    held, rare = _matrix(words), _matrix(under)
    sizes = np.diff(held.indptr)
    near = [np.empty((2, 0), dtype=np.int64)]
    for start in range(0, len(rows), _BLOCK):
        candidates = triu(rare[start : start + _BLOCK] @ rare.T, start + 1)
        one, other = candidates.row + start, candidates.col
        alike = np.minimum(sizes[one], sizes[other]) >= NEAR * np.maximum(sizes[one], sizes[other])
        one, other = one[alike], other[alike]
        shared = np.asarray(held[one].multiply(held[other]).sum(axis=1)).reshape(-1)
        enough = shared >= NEAR * (sizes[one] + sizes[other] - shared)
        near.append(rows[np.stack([one[enough], other[enough]])])
    first, second = np.concatenate(near, axis=1)
    return first, second


def _matrix(rows: Sequence[Sequence[int]]) -> Any:
    """Return rows of numbers as a sparse matrix with ones in these columns."""
    from scipy.sparse import csr_matrix

    numbers = np.fromiter(chain.from_iterable(rows), np.int64)
    width = int(numbers.max(initial=0)) + 1
    starts = np.cumsum([0, *map(len, rows)])
    return csr_matrix((np.ones(len(numbers), np.int32), numbers, starts), (len(rows), width))


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

    def groups(self) -> Array:
        """Return the groups of each argument's statements; -1 for a blank one."""
        numbers = np.append(groups_of(list(self._keys)), np.int32(-1))
        return numbers[np.array(self._places, dtype=np.int64)].reshape(-1, len(ROLES))

    def write(self, numbers: Array, folder: Path) -> None:
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
        self._groups: Array = np.load(folder / "groups.npy", mmap_mode="r")
        self._members: Array = np.load(folder / "members.npy", mmap_mode="r")
        self._starts: Array = np.load(folder / "starts.npy", mmap_mode="r")

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
