"""Which sentences of a response speak to whoever judges it, and not to the user."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from judges.grice.grounded.tokens import Passage, stem

ENOUGH = 3
"""So many points make a sentence one for the judge; beside such a sentence a single one does."""
_LONGEST = 2_000
"""Of a longer sentence the beginning is read."""


def addressed(texts: Sequence[str], known: Sequence[Passage]) -> frozenset[int]:
    """The places of the sentences that speak to a judge.

    A mark counts once, and only where one of its words is new: in a debate on juries or on
    grades, what the user and the sources say of them is the matter itself.

    Args:
        texts: The sentences as written.
        known: What the user said, and what is cited.
    """
    heard = {token.stem for passage in known for token in passage.tokens}
    points = [_points(text, heard) for text in texts]
    found = {at for at, count in enumerate(points) if count >= ENOUGH}
    for step in (1, -1):
        places = range(len(texts)) if step > 0 else range(len(texts) - 1, -1, -1)
        found |= _neighbours(places, points, found, step)
    return frozenset(found)


def _neighbours(
    places: Sequence[int], points: Sequence[int], found: set[int], step: int
) -> set[int]:
    """Those beside a sentence for the judge that go on with it."""
    more: set[int] = set()
    for at in places:
        if points[at] and (at - step in found or at - step in more):
            more.add(at)
    return more


def _points(text: str, heard: set[str]) -> int:
    line = " ".join(text[:_LONGEST].lower().split())
    return sum(
        points
        for points, pattern in _marks()
        if any(_is_new(match.group(), heard) for match in pattern.finditer(line))
    )


def _is_new(written: str, heard: set[str]) -> bool:
    words = re.findall(r"[a-z]+", written)
    return not words or any(stem(word) not in heard for word in words)


@cache
def _marks() -> tuple[tuple[int, re.Pattern[str]], ...]:
    read = tomllib.loads(files(__package__).joinpath("addressed.toml").read_text("utf-8"))
    return tuple((mark["points"], re.compile(mark["pattern"])) for mark in read["mark"])
