"""Group the texts and claims of a collection that are equal or nearly equal statements."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from retrieval._arrays import Array, mapped
from retrieval.index.analyser import tokens
from touche_rad.text import NEGATIONS

Key = tuple[str, ...]
"""The sorted distinct stems of a statement."""

NEAR: Final = 0.7
"""Minimum Jaccard similarity of the stems of two nearly equal statements."""
LONGEST: Final = 40
"""Longer statements are grouped only if they are equal."""
MAX_COMPARED = 100
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

    first, second = _near_pairs(keys)
    edges = np.ones(len(first), dtype=bool)
    pairs = coo_matrix((edges, (first, second)), shape=(len(keys), len(keys)))
    labels = connected_components(pairs, directed=False)[1] if keys else np.zeros(0, np.int32)
    _, starts, components = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(starts))[components].astype(np.int32)


def _near_pairs(keys: Sequence[Key]) -> tuple[Array, Array]:
    """Return the pairs of near statements.

    Two similar statements share one of their rarest stems: those under the same stem are compared.
    They must have the same negations.
    """
    from scipy.sparse import triu

    rows = np.array([at for at, key in enumerate(keys) if 2 < len(key) <= LONGEST], np.int64)
    often = Counter(chain.from_iterable(keys))
    rare_first = sorted(often, key=lambda stem: (often[stem], stem))
    rank = {stem: at for at, stem in enumerate(rare_first)}
    counts: Counter[tuple[str, Key]] = Counter()
    buckets: dict[tuple[str, Key], int] = {}
    ranks: list[list[int]] = []
    bucket_numbers: list[list[int]] = []
    for row in rows:
        stems = sorted(keys[row], key=rank.__getitem__)
        ranks.append([rank[stem] for stem in stems])
        # A near statement has 7/10 of the stems, so it has at least one of those that are too many
        # to be all missing.
        negations = tuple(stem for stem in stems if stem in NEGATION_STEMS)
        rarest = [(stem, negations) for stem in stems[: len(stems) - -(-len(stems) * 7 // 10) + 1]]
        open_buckets = [bucket for bucket in rarest if counts[bucket] < MAX_COMPARED]
        bucket_numbers.append([buckets.setdefault(bucket, len(buckets)) for bucket in open_buckets])
        counts.update(rarest)

    # Rows that share a bucket are compared, first by their sizes, then by the stems they share.
    stems_of = _matrix(ranks)
    buckets_of = _matrix(bucket_numbers)
    sizes = np.diff(stems_of.indptr)
    near = [np.empty((2, 0), dtype=np.int64)]
    for start in range(0, len(rows), _BLOCK):
        candidates = triu(buckets_of[start : start + _BLOCK] @ buckets_of.T, start + 1)
        pairs = np.stack([candidates.row + start, candidates.col])
        pair_sizes = sizes[pairs]
        pairs = pairs[:, pair_sizes.min(axis=0) >= NEAR * pair_sizes.max(axis=0)]
        common = stems_of[pairs[0]].multiply(stems_of[pairs[1]])
        shared = np.asarray(common.sum(axis=1)).reshape(-1)
        enough = shared >= NEAR * (sizes[pairs].sum(axis=0) - shared)
        near.append(rows[pairs[:, enough]])
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
        added = self.groups()
        groups = np.empty_like(added)
        groups[numbers] = added
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
        self._groups = mapped(folder / "groups.npy")
        self._members = mapped(folder / "members.npy")
        self._starts = mapped(folder / "starts.npy")

    def linked(self, number: int) -> Iterator[tuple[str, str, int]]:
        """Yield the arguments that share a statement: its role here and there, their number."""
        for from_role, group in zip(ROLES, self._groups[number].tolist(), strict=True):
            if group < 0:
                continue
            for member in self._members[self._starts[group] : self._starts[group + 1]].tolist():
                linked, to_role = divmod(member, len(ROLES))
                if linked != number:
                    yield from_role, ROLES[to_role], linked
