"""What an index with vectors tells of meaning, asked in words."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from retrieval.dense.search import encoded
from retrieval.dense.vectors import DenseVectors
from touche_rad.errors import ToucheRadError
from touche_rad.plugins import Meaning

log = logging.getLogger("touche_rad")


class VectorMeaning:
    """Cosines of an encoder's vectors."""

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
        found = self._vectors.nearest(field, encoded(self._name, texts), k)
        return [[self._id_at(number) for _, number in hits] for hits in found]

    def likeness(self, field: str, texts: Sequence[str], ids: Sequence[str]) -> list[list[float]]:
        """Return how like each text is to each argument by its field."""
        numbers = [number for one in ids if (number := self._number(one)) is not None]
        if len(numbers) != len(ids):
            raise KeyError("an argument is not in the index")
        found: list[list[float]] = self._vectors.likeness(
            field, encoded(self._name, texts), numbers
        ).tolist()
        return found


def meaning(
    vectors: DenseVectors, number: Callable[[str], int | None], id_at: Callable[[int], str]
) -> Meaning | None:
    """Return the meaning of an index, or None where this machine cannot load the encoder."""
    try:
        encoded(vectors.about.encoder, ["ready"])
    except ToucheRadError as error:
        log.warning("the index's vectors are not used: %s", error)
        return None
    return VectorMeaning(vectors, number, id_at)
