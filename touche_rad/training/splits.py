"""Which debates are held out: whole ones, chosen by a digest, the same wherever it is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def held_out(
    items: Sequence[T], group: Callable[[T], str], share: float, seed: int
) -> tuple[list[T], list[T]]:
    """Return what is learnt from and what is held out; no group is on both sides.

    With two groups or more and a share above nothing, each side has one at least.
    """
    groups = sorted({group(one) for one in items}, key=lambda name: _place(name, seed))
    count = round(share * len(groups))
    if share > 0 and len(groups) > 1:
        count = min(max(count, 1), len(groups) - 1)
    out = set(groups[:count]) if share > 0 else set()
    return [one for one in items if group(one) not in out], [
        one for one in items if group(one) in out
    ]


def _place(name: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}\n{name}".encode()).hexdigest()
