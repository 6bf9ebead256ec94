"""What an index with vectors tells of meaning, asked in words."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from retrieval.dense.search import encoded
from retrieval.dense.vectors import DenseVectors
from touche_rad.errors import ToucheRadError

log = logging.getLogger("touche_rad")

FIELDS: Final = ("text", "attacks", "supports")
"""Who asks for meaning compares with all of these."""


def usable(encoded_fields: Mapping[str, Sequence[str]]) -> str | None:
    """Return the first encoder that made all the vectors which meaning needs and that loads here.

    Whoever asks for meaning does without it where there is none; a warning says why.
    """
    whole = [name for name, fields in encoded_fields.items() if set(FIELDS) <= set(fields)]
    if not whole:
        if encoded_fields:
            log.warning("the index's vectors are not used: they are not of all of %s", FIELDS)
        return None
    try:
        encoded(whole[0], ["ready"])
    except ToucheRadError as error:
        log.warning("the index's vectors are not used: %s", error)
        return None
    return whole[0]


class VectorMeaning:
    """Cosines of an encoder's vectors; nothing is like a field without any, which is blank."""

    def __init__(
        self,
        vectors: DenseVectors,
        number: Callable[[str], int | None],
        id_at: Callable[[int], str],
    ) -> None:
        self._vectors = vectors
        self._number = number
        self._id_at = id_at
        self._name = vectors.about.encoder

    def nearest(self, field: str, texts: Sequence[str], k: int) -> list[list[str]]:
        """Return the ids of the arguments nearest to each text, nearest first."""
        if field not in self._vectors.about.fields:
            return [[] for _ in texts]
        found = self._vectors.nearest(field, encoded(self._name, texts), k)
        return [[self._id_at(number) for _, number in hits] for hits in found]

    def likeness(self, field: str, texts: Sequence[str], ids: Sequence[str]) -> list[list[float]]:
        """Return how like each text is to each argument by its field."""
        numbers = [number for one in ids if (number := self._number(one)) is not None]
        if len(numbers) != len(ids):
            raise KeyError("an argument is not in the index")
        if field not in self._vectors.about.fields:
            return [[0.0] * len(ids) for _ in texts]
        found: list[list[float]] = self._vectors.likeness(
            field, encoded(self._name, texts), numbers
        ).tolist()
        return found
