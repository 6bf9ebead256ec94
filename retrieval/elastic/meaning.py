"""What an index of ours on Elasticsearch tells of meaning, asked in words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from retrieval.dense.search import encoded
from touche_rad.errors import ToucheRadError
from touche_rad.plugins import Meaning

if TYPE_CHECKING:
    from retrieval.elastic.arguments import ElasticArguments

log = logging.getLogger("touche_rad")

FIELDS: Final = ("text", "attacks", "supports")
"""Who asks for meaning compares with all of these."""


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
    whole = [one for one in index.encoders if set(FIELDS) <= set(index.encoded_fields(one))]
    if not whole:
        if index.encoders:
            log.warning("the index's vectors are not used: they are not of all of %s", FIELDS)
        return None
    try:
        encoded(whole[0], ["ready"])
    except ToucheRadError as error:
        log.warning("the index's vectors are not used: %s", error)
        return None
    return ElasticMeaning(index, whole[0])
