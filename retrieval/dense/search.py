"""Dense search as a PyTerrier transformer, as the retriever `dense`, and for debaters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

from retrieval._arrays import Array
from retrieval._searching import Searcher
from retrieval.dense.encoders import Vectors, encoder, refuse_unsafe
from touche_rad import plugins
from touche_rad.debate import Hit
from touche_rad.errors import OptionError, ToucheRadError, UserError, nearest
from touche_rad.events import log
from touche_rad.frozen import frozen
from touche_rad.plugins import Services, storage_of

CACHED_QUERIES = 4_096
FIELDS: Final = ("text", "attacks", "supports")
"""Similarity needs vectors of all these fields."""


@runtime_checkable
class DenseIndex(Protocol):
    """An index with vectors."""

    @property
    def encoders(self) -> Sequence[str]:
        """The names of the encoders."""

    def nearest(
        self, encoder: str, field: str, queries: Vectors, k: int
    ) -> list[list[tuple[str, float]]]:
        """Return the ids of the nearest arguments of each query, with cosines."""


class ComparingIndex(DenseIndex, Protocol):
    """An index that also compares queries with any arguments, such as one in a folder."""

    def likeness(
        self, encoder: str, field: str, queries: Vectors, ids: Sequence[str]
    ) -> list[list[float]]:
        """Return the cosine of each query with each argument."""


loaded = cache(encoder)
"""Load an encoder once per process."""


@lru_cache(CACHED_QUERIES)
def _vector(name: str, query: str) -> Array:
    vector: Array = loaded(name).queries([query])[0]
    return vector


def encoded(name: str, queries: Sequence[str]) -> Vectors:
    """Return the vectors of queries; recent ones are cached."""
    if not queries:
        return np.empty((0, 0), dtype=np.float32)
    if len(queries) > CACHED_QUERIES // 2:
        return loaded(name).queries(queries)
    return np.stack([_vector(name, query) for query in queries])


class DenseRetriever(Searcher):
    """Arguments whose vectors are nearest to the query's."""

    needs = ("index", "vectors")

    class Options(plugins.Options):
        """The options of the retriever."""

        field: str = "attacks"
        """text, attacks or supports"""
        encoder: str = ""
        """encoder, if the index has vectors of several"""

    def __init__(self, options: Any, services: Services) -> None:
        super().__init__(options, services)
        storage: object = storage_of(self.index)
        if not isinstance(storage, DenseIndex) or not storage.encoders:
            raise UserError(
                "the index has no vectors; add them: touche-rad index SOURCE -o DIR --dense ENCODER"
            )
        names = storage.encoders
        self._storage = storage
        self._encoder = options.encoder or names[0]
        if self._encoder not in names:
            raise OptionError(
                f"the index has no vectors by {self._encoder!r}{nearest(self._encoder, names)}"
            )
        refuse_unsafe(self._encoder)

    def search_all(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Return the nearest `k` of each query."""
        field = self.options.field
        path = (f"near in meaning: {field}",)
        results = self._storage.nearest(self._encoder, field, encoded(self._encoder, queries), k)
        return [self.hits(near, path) for near in results]


def vector_meaning(
    index: ComparingIndex, encoded_fields: Mapping[str, Sequence[str]]
) -> VectorMeaning | None:
    """Return similarity by the first encoder that has vectors of all `FIELDS`, if it loads."""
    for name, fields in encoded_fields.items():
        if set(FIELDS) <= set(fields):
            try:
                refuse_unsafe(name)
                encoded(name, ["ready"])
            except ToucheRadError as error:
                log.warning("the index's vectors are not used: %s", error)
                return None
            return VectorMeaning(index, name)
    if encoded_fields:
        log.warning("the index's vectors are not used: they do not cover %s", ", ".join(FIELDS))
    return None


@frozen
class VectorMeaning:
    """Similarity by the cosines of an encoder's vectors; 0 for blank fields."""

    index: ComparingIndex
    encoder: str

    def nearest(self, field: str, texts: Sequence[str], k: int) -> list[list[str]]:
        """Return the ids of the arguments nearest to each text, nearest first."""
        results = self.index.nearest(self.encoder, field, encoded(self.encoder, texts), k)
        return [[id_ for id_, _ in hits] for hits in results]

    def likeness(self, field: str, texts: Sequence[str], ids: Sequence[str]) -> list[list[float]]:
        """Return the cosine of each text with each argument's field."""
        return self.index.likeness(self.encoder, field, encoded(self.encoder, texts), ids)
