"""Which arguments an answer cites: those it used, the first used first."""

from __future__ import annotations

from collections.abc import Sequence

from touche_rad.debate import Argument
from touche_rad.text import content_words


def cited(
    content: str, named: Sequence[Argument], given: Sequence[Argument], most: int
) -> tuple[Argument, ...]:
    """Return what an answer cites.

    Args:
        content: The answer as it is said.
        named: What the model says it used; what shares no word with the answer was not used.
        given: What it could have used; it is looked through where none of the named was used.
        most: How many are cited at most.
    """
    said = content_words(content)
    used = [one for one in named if _first(said, one, named) < len(said)]
    if not used:
        shared = {one.id: len(set(said) & set(content_words(one.text))) for one in given}
        nearest = max(given, key=lambda one: shared[one.id], default=None)
        used = [nearest] if nearest is not None and shared[nearest.id] else []
    return tuple(sorted(used, key=lambda one: _first(said, one, used))[:most])


def _first(said: Sequence[str], one: Argument, among: Sequence[Argument]) -> int:
    """Return where the answer first has a word of an argument, if possible one of its own."""
    own = set(content_words(one.text))
    others: set[str] = set()
    others.update(*(content_words(other.text) for other in among if other.id != one.id))
    for words in (own - others, own):
        for place, word in enumerate(said):
            if word in words:
                return place
    return len(said)
