"""Lists in order: without repetitions, and several lists as one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain, zip_longest
from typing import TypeVar

T = TypeVar("T")


def unique(values: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """Return the first value with each key, in order."""
    first: dict[Hashable, T] = {}
    for value in values:
        first.setdefault(key(value), value)
    return list(first.values())


def alternate(lists: Iterable[Iterable[T | None]]) -> Iterator[T]:
    """Yield the first value of each list, then the second, and so on; None is left out."""
    return (value for value in chain(*zip_longest(*lists)) if value is not None)
