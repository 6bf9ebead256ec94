"""Add vectors to an index on Elasticsearch."""

from __future__ import annotations

from collections.abc import Mapping

from retrieval.dense.encoders import Encoder
from retrieval.dense.vectors import slug
from retrieval.elastic import _shape as shape
from retrieval.elastic._arguments import ElasticArguments
from retrieval.elastic._loading import describe, send, settle
from retrieval.index.analyser import content
from touche_rad.errors import UserError
from touche_rad.plugins import VectorsWanted
from touche_rad.plugins.contracts import Progress


def add_vectors(
    index: ElasticArguments, encoder: Encoder, wanted: VectorsWanted, report: Progress | None
) -> int:
    """Encode the fields that have no vectors yet; return the number of vectors.

    A killed run is resumed after its last complete field.
    """
    if index.ours is None:
        raise UserError(f"{index.location} was not built by touche-rad: it is not changed")
    encoded = list(index.encoded_fields(encoder.name))
    fields = [field for field in wanted.fields if field not in encoded]
    if not fields:
        return 0
    joined = slug(encoder.name, "_")
    total, done = len(index) * len(fields), 0
    for field in fields:
        name = shape.vector_field(field, joined)
        for page in index.pages():
            texts = {one.id: content(one, field) for one, _ in page}
            _encode(index, texts, encoder, name, wanted)
            done += len(page)
            if report is not None:
                report(done, total)
        encoded.append(field)
        changes = {"encoders": {encoder.name: joined}, "encoded": {encoder.name: encoded}}
        describe(index.connection, index.concrete, **changes)
    settle(index.connection, index.concrete)
    return total


def _encode(
    index: ElasticArguments,
    texts: Mapping[str, str],
    encoder: Encoder,
    name: str,
    wanted: VectorsWanted,
) -> None:
    """Encode the texts of arguments, by their ids, and send them; blank ones have no vector."""
    distinct = list(dict.fromkeys(text for text in texts.values() if text.strip()))
    if not distinct:
        return
    vectors = dict(zip(distinct, encoder.passages(distinct).tolist(), strict=True))
    mapping = {
        "type": "dense_vector",
        "dims": len(vectors[distinct[0]]),
        "index": True,
        "similarity": "cosine",
        "index_options": {"type": "int8_hnsw" if wanted.precision == "int8" else "hnsw"},
    }
    index.connection.ask(
        lambda es: es.indices.put_mapping(index=index.concrete, properties={name: mapping})
    )
    send(
        index.connection,
        [
            index.update(one, {name: vectors[text]})
            for one, text in texts.items()
            if text in vectors
        ],
    )
