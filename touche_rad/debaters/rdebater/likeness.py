"""How like the debate the candidates are: the cosine of vectors, or else of words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from touche_rad.debate import Argument
from touche_rad.errors import ToucheRadError
from touche_rad.plugins import ArgumentIndex, Meaning, MeaningIndex
from touche_rad.text import content_words


def likeness(
    index: ArgumentIndex, field: str, said: str, arguments: Sequence[Argument]
) -> tuple[list[float], str]:
    """Return each argument's cosine with what was said, and what it was taken of."""
    meaning = _meaning(index)
    if meaning is not None and arguments:
        with suppress(ToucheRadError, KeyError):
            (found,) = meaning.likeness(field, [said], [one.id for one in arguments])
            return found, "vectors"
    return by_words(said, [str(getattr(one, field)) for one in arguments]), "words"


def nearest(index: ArgumentIndex, field: str, said: str, k: int) -> list[Argument]:
    """Return the arguments nearest to what was said, where there are vectors of the field."""
    meaning = _meaning(index)
    if meaning is None or not said.strip():
        return []
    with suppress(ToucheRadError, KeyError):
        (ids,) = meaning.nearest(field, [said], k)
        return [one for one in map(index.get, ids) if one is not None]
    return []


def _meaning(index: ArgumentIndex) -> Meaning | None:
    return index.meaning if isinstance(index, MeaningIndex) else None


def by_words(said: str, texts: Sequence[str]) -> list[float]:
    """Return the cosine of word counts, each word weighed by how few of the texts have it."""
    counts = [Counter(content_words(text)) for text in texts]
    often = Counter(word for count in counts for word in count)
    weights = {word: math.log(1 + len(texts) / times) for word, times in often.items()}
    asked = _weighed(Counter(content_words(said)), weights)
    return [_cosine(asked, _weighed(count, weights)) for count in counts]


def _weighed(count: Counter[str], weights: Mapping[str, float]) -> dict[str, float]:
    return {word: times * weights.get(word, 1.0) for word, times in count.items()}


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = sum(weight * other.get(word, 0.0) for word, weight in one.items())
    length = math.hypot(*one.values()) * math.hypot(*other.values())
    return product / length if length else 0.0
