"""Which statements nearly say the same: sets of words, joined where they share enough of them.

Two sets that share so much share one of so many of their rarest words, so only sets that begin
alike are compared. Most of these pairs differ by far: their signatures tell, many at once. The few
that are left are counted word by word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from retrieval.analyser import tokens

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
