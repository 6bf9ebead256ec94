"""What an index of ours on Elasticsearch tells of meaning, asked in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval.dense.search import encoded, usable
from touche_rad.plugins import Meaning

if TYPE_CHECKING:
    from retrieval.elastic.arguments import ElasticArguments


class ElasticMeaning:
    """Cosines of an encoder's vectors, which the server works out."""

    def __init__(self, index: ElasticArguments, encoder: str) -> None:
        self._index = index
        self._name = encoder

    def nearest(self, field: str, texts: Sequence[str], k: int) -> list[list[str]]:
        """Return the ids of the arguments nearest to each text, nearest first."""
        found = self._index.nearest(self._name, field, encoded(self._name, texts), k)
        return [[one for one, _ in hits] for hits in found]

    def likeness(self, field: str, texts: Sequence[str], ids: Sequence[str]) -> list[list[float]]:
        """Return how like each text is to each argument by its field."""
        return self._index.likeness(self._name, field, encoded(self._name, texts), ids)


def meaning(index: ElasticArguments) -> Meaning | None:
    """Return the meaning of an index, or None where it lacks vectors or this machine an encoder."""
    name = usable({one: index.encoded_fields(one) for one in index.encoders})
    return None if name is None else ElasticMeaning(index, name)
