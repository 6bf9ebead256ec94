"""Add vectors to an index on Elasticsearch."""

from __future__ import annotations

from functools import partial
from typing import Any

from retrieval.dense.encoders import Encoder
from retrieval.dense.vectors import slug
from retrieval.elastic import _shape as shape
from retrieval.elastic._arguments import ElasticArguments
from retrieval.elastic._loading import describe, send, settle
from retrieval.index.analyser import content
from touche_rad.plugins import VectorsWanted
from touche_rad.plugins.contracts import Progress


def add_vectors(
    index: ElasticArguments, encoder: Encoder, wanted: VectorsWanted, report: Progress | None
) -> int:
    """Encode the fields that have no vectors yet; return the number of vectors.

    A killed run is resumed after its last complete field.
    """
    ask, joined = index.connection.ask, slug(encoder.name, "_")
    encoded = list(index.encoded_fields(encoder.name))
    fields = [field for field in wanted.fields if field not in encoded]
    total, done = len(index) * len(fields), 0
    for field in fields:
        name = shape.vector_field(field, joined)
        for page in index.pages():
            texts = {one.id: text for one in page if (text := content(one, field)).strip()}
            if texts:
                distinct = list(dict.fromkeys(texts.values()))
                vectors = dict(zip(distinct, encoder.passages(distinct).tolist(), strict=True))
                kind = shape.vector_mapping(len(vectors[distinct[0]]))
                put = partial(_put, index=index.concrete, properties={name: kind})
                ask(put)
                updates = [
                    {
                        "_op_type": "update",
                        "_index": index.concrete,
                        "_id": one,
                        "doc": {name: vectors[text]},
                    }
                    for one, text in texts.items()
                ]
                send(index.connection, updates)
            done += len(page)
            if report is not None:
                report(done, total)
        encoded.append(field)
        changes = {"encoders": {encoder.name: joined}, "encoded": {encoder.name: encoded}}
        describe(index.connection, index.concrete, **changes)
    if fields:
        settle(index.connection, index.concrete)
    return total


def _put(es: Any, index: str, properties: Any) -> None:
    es.indices.put_mapping(index=index, properties=properties)
