"""Add vectors to an index on Elasticsearch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from retrieval.dense.encoders import Encoder
from retrieval.dense.vectors import slug
from retrieval.elastic import shape
from retrieval.elastic.arguments import ElasticArguments
from retrieval.elastic.connection import Connection, place
from retrieval.elastic.loading import send, settle, update_description
from retrieval.index.analyser import content
from touche_rad.errors import UserError
from touche_rad.plugins import VectorsWanted
from touche_rad.plugins.contracts import Progress

BATCH: Final = 256
CACHED: Final = 50_000
"""Maximum number of vectors in memory."""


class _CachedEncoder:
    """Encodes texts that many arguments share once, as long as the cache has room."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors: dict[str, Any] = {}

    def passages(self, texts: Sequence[str]) -> list[Any]:
        """Return the vector of each text."""
        if len(self._vectors) + len(texts) > CACHED:
            self._vectors.clear()
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._encoder.passages(new), strict=True))
        return [self._vectors[text] for text in texts]


def add_vectors(
    location: str, encoder: Encoder, wanted: VectorsWanted, report: Progress | None
) -> int:
    """Encode the fields that have no vectors yet; return the number of vectors.

    A killed run is resumed after its last complete field.
    """
    index = ElasticArguments(location)
    if index.ours is None:
        raise UserError(f"{location} was not built by touche-rad: it is not changed")
    known = list(index.encoded_fields(encoder.name))
    fields = [field for field in wanted.fields if field not in known]
    if not fields:
        return 0
    connection = Connection(place(location))
    joined = slug(encoder.name, "_")
    cached = _CachedEncoder(encoder)
    total, done = len(index) * len(fields), 0
    for field in fields:
        name = shape.vector_field(field, joined)
        for page in index.pages():
            for start in range(0, len(page), BATCH):
                batch = page[start : start + BATCH]
                texts = {one.id: content(one, field) for one in batch}
                _encode(connection, index.concrete, texts, cached, name, wanted)
                done += len(batch)
                if report is not None:
                    report(done, total)
        known.append(field)
        change = partial(_with, encoder=encoder.name, slug=joined, fields=known)
        update_description(connection, index.concrete, change)
    settle(connection, index.concrete)
    return total


def _with(
    about: Mapping[str, Any], encoder: str, slug: str, fields: Sequence[str]
) -> dict[str, Any]:
    """Add an encoder to the description of an index."""
    return {
        **about,
        "encoders": {**about["encoders"], encoder: slug},
        "encoded": {**(about.get("encoded") or {}), encoder: list(fields)},
    }


def _encode(
    connection: Connection,
    concrete: str,
    texts: Mapping[str, str],
    encoder: _CachedEncoder,
    name: str,
    wanted: VectorsWanted,
) -> None:
    """Encode the texts of arguments, by their ids, and send them; blank ones have no vector."""
    ids = [one for one, text in texts.items() if text.strip()]
    if not ids:
        return
    vectors = encoder.passages([texts[one] for one in ids])
    _declare(connection, concrete, name, len(vectors[0]), wanted)
    send(
        connection,
        [
            (
                {"update": {"_index": concrete, "_id": shape.sendable(one)}},
                {"doc": {name: vector.tolist()}},
            )
            for one, vector in zip(ids, vectors, strict=True)
        ],
    )


def _declare(
    connection: Connection, concrete: str, name: str, dimension: int, wanted: VectorsWanted
) -> None:
    kind = "int8_hnsw" if wanted.precision == "int8" else "hnsw"
    properties = {
        name: {
            "type": "dense_vector",
            "dims": dimension,
            "index": True,
            "similarity": "cosine",
            "index_options": {"type": kind},
        }
    }
    connection.ask(lambda es: es.indices.put_mapping(index=concrete, properties=properties))
