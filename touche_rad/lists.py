"""Lists in order: without repetitions, several lists as one, one in parts; sets in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from itertools import chain, zip_longest
from typing import TypeVar

T = TypeVar("T")
"""Any type; the generic functions of all modules share it."""


def unique(values: Iterable[T], key: Callable[[T], Hashable] | None = None) -> list[T]:
    """Return the first value with each key, in order; without a key, each value once."""
    first: dict[Hashable, T] = {}
    for value in values:
        first.setdefault(key(value) if key else value, value)
    return list(first.values())


def alternate(lists: Iterable[Iterable[T | None]]) -> Iterator[T]:
    """Yield the first value of each list, then the second, and so on; None is left out."""
    return (value for value in chain(*zip_longest(*lists)) if value is not None)


def in_parts(values: Sequence[T], size: int) -> list[Sequence[T]]:
    """Return the values in order, in parts of this size; the last may be smaller."""
    return [values[start : start + size] for start in range(0, len(values), size)]


def runs_of(values: Sequence[T], size: int) -> Iterator[tuple[T, ...]]:
    """Yield each run of so many values in a row."""
    return zip(*(values[start:] for start in range(size)), strict=False)


def overlap(first: Set[T], second: Set[T]) -> float:
    """Return the Jaccard similarity of two sets; that of empty ones is 0."""
    either = first | second
    return len(first & second) / len(either) if either else 0.0
