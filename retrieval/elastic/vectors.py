"""Add vectors to an index on Elasticsearch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from retrieval.dense.encoders import Encoder
from retrieval.dense.vectors import slug
from retrieval.elastic import shape
from retrieval.elastic.arguments import ElasticArguments
from retrieval.elastic.connection import Connection, place
from retrieval.elastic.loading import send, settle, update_description
from retrieval.index.analyser import content
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.plugins import VectorsWanted
from touche_rad.plugins.contracts import Report

BATCH: Final = 256
CACHED: Final = 50_000
"""Maximum number of vectors in memory."""
DONE: Final = "complete"


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
    location: str, encoder: Encoder, wanted: VectorsWanted, report: Report | None
) -> int:
    """Encode the arguments that have no vectors yet; return the number of vectors of the fields."""
    index = ElasticArguments(location)
    if index.ours is None:
        raise UserError(f"{location} was not built by touche-rad: it is not changed")
    kept = index.encoded_fields(encoder.name)
    wanted_fields = [field for field in wanted.fields if field not in kept]
    if not wanted_fields:
        return 0
    connection = Connection(place(location))
    joined = slug(encoder.name, "_")
    fields = {field: shape.vector_field(field, joined) for field in wanted_fields}
    total, done = len(index), 0
    cached = _CachedEncoder(encoder)
    for batch in _batches(index):
        _encode(connection, index.concrete, batch, cached, fields, wanted)
        done += len(batch)
        if report is not None:
            report(done, total)
    settle(connection, index.concrete)
    change = partial(_with, encoder=encoder.name, slug=joined, fields=[*kept, *wanted_fields])
    update_description(connection, index.concrete, change)
    return total * len(fields)


def _with(
    about: Mapping[str, Any], encoder: str, slug: str, fields: Sequence[str]
) -> dict[str, Any]:
    """Add an encoder to the description of an index."""
    return {
        **about,
        "encoders": {**about["encoders"], encoder: slug},
        "encoded": {**(about.get("encoded") or {}), encoder: list(fields)},
    }


def _batches(index: ElasticArguments) -> Iterator[list[Argument]]:
    for page in index.pages():
        for start in range(0, len(page), BATCH):
            yield page[start : start + BATCH]


def _marks(
    connection: Connection, concrete: str, batch: Sequence[Argument], fields: Sequence[str]
) -> list[set[str]]:
    """Return the fields of each argument that are marked as encoded."""
    ids = [shape.sendable(one.id) for one in batch]
    asked = partial(_marked, index=concrete, ids=ids, fields=[f"{one}_{DONE}" for one in fields])
    return connection.ask(asked)


def _marked(es: Any, index: str, ids: Sequence[str], fields: Sequence[str]) -> list[set[str]]:
    found = es.mget(index=index, ids=list(ids), source_includes=list(fields))["docs"]
    return [{key.removesuffix(f"_{DONE}") for key in one.get("_source") or {}} for one in found]


def _encode(
    connection: Connection,
    concrete: str,
    batch: Sequence[Argument],
    encoder: _CachedEncoder,
    fields: Mapping[str, str],
    wanted: VectorsWanted,
) -> None:
    """Encode the arguments of a batch that are not marked."""
    marks = _marks(connection, concrete, batch, list(fields.values()))
    documents: list[dict[str, Any]] = [{} for _ in batch]
    for field, name in fields.items():
        lacking = [at for at in range(len(batch)) if name not in marks[at]]
        for at in lacking:
            documents[at][f"{name}_{DONE}"] = True
        held = [at for at in lacking if content(batch[at], field).strip()]
        if held:
            vectors = encoder.passages([content(batch[at], field) for at in held])
            _declare(connection, concrete, name, len(vectors[0]), wanted)
            for at, vector in zip(held, vectors, strict=True):
                documents[at][name] = vector.tolist()
    send(
        connection,
        [
            (
                {"update": {"_index": concrete, "_id": shape.sendable(argument.id)}},
                {"doc": document},
            )
            for argument, document in zip(batch, documents, strict=True)
            if document
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
