"""Many of a kind in one call: how they are grouped, and what a server is told of their number."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from pydantic import JsonValue

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Return the items in as few groups as their size allows, in order and of like length."""
    if not items:
        return []
    count = -(-len(items) // size)
    ends = [len(items) * number // count for number in range(count + 1)]
    return [items[begin:end] for begin, end in pairwise(ends)]


def at_most(count: int) -> dict[str, JsonValue]:
    """Return the bounds of a list, for a server that decodes by them; an answer may differ."""
    return {"minItems": count, "maxItems": count}
