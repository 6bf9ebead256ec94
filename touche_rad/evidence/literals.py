"""Strings of which a text must contain one to match a pattern, so that most searches are left out.

They are read from the parsed pattern, so nobody has to write them and none is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from re import _parser  # type: ignore[attr-defined]  # the parser has no public name
from typing import Any, Final

from touche_rad.text import stopwords

_REPEATS: Final = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


def needed(pattern: str) -> frozenset[str]:
    """Return the strings; the empty string is the only one if any text could match.

    Args:
        pattern: A regular expression without the flag IGNORECASE.
    """
    return _rarest(_parser.parse(pattern)) or frozenset(("",))


def _rarest(parts: Iterable[tuple[Any, Any]]) -> frozenset[str]:
    """Return the set with the longest strings, and the smaller one of two such; none: empty.

    A function word counts as short, because most texts have it.
    """
    sets = _of_sequence(parts)
    return max(sets, key=lambda one: (min(map(_length, one)), -len(one)), default=frozenset())


def _length(one: str) -> float:
    bare = one.strip()
    return 0.5 if bare in stopwords() else len(one) if bare else 0


def _of_sequence(parts: Iterable[tuple[Any, Any]]) -> Iterator[frozenset[str]]:
    """Yield sets of which each match has one string each; neighbouring letters are one string."""
    run = ""
    for kind, value in parts:
        if str(kind) == "LITERAL":
            run += chr(value)
            continue
        if run:
            yield frozenset((run,))
        run = ""
        yield from _of_part(str(kind), value)
    if run:
        yield frozenset((run,))


def _of_part(kind: str, value: Any) -> Iterator[frozenset[str]]:
    if kind == "SUBPATTERN":
        yield from _of_sequence(value[-1])
    elif kind == "ATOMIC_GROUP":
        yield from _of_sequence(value)
    elif kind in _REPEATS and value[0]:
        yield from _of_sequence(value[2])
    elif kind == "BRANCH":
        each = [_rarest(one) for one in value[1]]
        if all(each):
            yield frozenset[str]().union(*each)
