"""Vectors in an index of ours on Elasticsearch."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from retrieval.dense.encoders import Encoder
from retrieval.elastic import shape
from retrieval.elastic.arguments import ElasticArguments
from retrieval.elastic.bulk import send
from retrieval.elastic.connection import Connection, place
from retrieval.fields import content
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.plugins import VectorsWanted

AT_ONCE: Final = 256
DONE: Final = "complete"


def add_vectors(
    location: str,
    encoder: Encoder,
    wanted: VectorsWanted,
    report: Callable[[int, int], None] | None,
) -> int:
    """Encode what the index holds; arguments that have their vectors are not encoded again."""
    index = ElasticArguments(location)
    if index.ours is None:
        raise UserError(f"{location} is not ours: nothing is written into it")
    name = _slug(encoder.name)
    fields = {field: shape.vector_field(field, name) for field in wanted.fields}
    if index.ours["encoders"].get(encoder.name) == name:
        fields = {field: own for field, own in fields.items() if not index.has(own)}
    if not fields:
        return 0
    connection = Connection(place(location))
    total, done = len(index), 0
    for batch in _batches(index):
        lacking = _lacking(connection, index.concrete, batch, list(fields.values()))
        if lacking:
            _encode(connection, index.concrete, lacking, encoder, fields, wanted)
        done += len(batch)
        if report is not None:
            report(done, total)
    connection.ask(lambda es: es.indices.refresh(index=index.concrete))
    encoders = {**index.ours["encoders"], encoder.name: name}
    told = shape.about(index.ours["collection"], total, complete=True, encoders=encoders)
    connection.ask(lambda es: es.indices.put_mapping(index=index.concrete, meta=told))
    return total * len(fields)


def _slug(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40]
    return f"{plain}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _batches(index: ElasticArguments) -> Iterator[list[Argument]]:
    for _, page in index.pages():
        for start in range(0, len(page), AT_ONCE):
            yield page[start : start + AT_ONCE]


def _lacking(
    connection: Connection, concrete: str, batch: Sequence[Argument], fields: Sequence[str]
) -> list[Argument]:
    ids = [shape.whole(one.id) for one in batch]
    asked = partial(_having, index=concrete, ids=ids, fields=fields)
    there = connection.ask(asked)
    return [one for one in batch if shape.whole(one.id) not in there]


def _having(es: Any, index: str, ids: Sequence[str], fields: Sequence[str]) -> set[str]:
    """Which documents have been through: those that are marked with the last field."""
    found = es.mget(index=index, ids=list(ids), source_includes=[f"{fields[-1]}_{DONE}"])["docs"]
    return {one["_id"] for one in found if one.get("_source")}


def _encode(
    connection: Connection,
    concrete: str,
    batch: Sequence[Argument],
    encoder: Encoder,
    fields: dict[str, str],
    wanted: VectorsWanted,
) -> None:
    documents: list[dict[str, Any]] = [{} for _ in batch]
    for field, name in fields.items():
        texts = [content(one, field) for one in batch]
        held = [place for place, text in enumerate(texts) if text.strip()]
        if held:
            vectors = encoder.passages([texts[place] for place in held])
            _declare(connection, concrete, name, int(vectors.shape[1]), wanted)
            for at, vector in zip(held, vectors, strict=True):
                documents[at][name] = vector.tolist()
    send(connection, [
        (
            {"update": {"_index": concrete, "_id": shape.whole(argument.id)}},
            {"doc": {**document, f"{name}_{DONE}": True}},
        )
        for argument, document in zip(batch, documents, strict=True)
    ])  # fmt: skip


def _declare(
    connection: Connection, concrete: str, name: str, dimension: int, wanted: VectorsWanted
) -> None:
    kind = "int8_hnsw" if wanted.precision == "int8" else "hnsw"
    properties = {
        name: {
            "type": "dense_vector", "dims": dimension, "index": True, "similarity": "cosine",
            "index_options": {"type": kind},
        }
    }  # fmt: skip
    connection.ask(lambda es: es.indices.put_mapping(index=concrete, properties=properties))
