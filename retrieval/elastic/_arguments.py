"""Search an index on Elasticsearch: the official one, or one built by touche-rad."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from hashlib import sha256
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from retrieval.elastic import _shape as shape
from retrieval.elastic._connection import Connection, may_be_id, place
from retrieval.elastic._shape import DEEPEST
from retrieval.index.analyser import FIELDS, check_field
from retrieval.index.analyser import NAME as ANALYSER
from touche_rad.debate import Argument, Hit
from touche_rad.errors import OptionError, UserError, nearest, refuse_newer
from touche_rad.plugins import Annotations, Meaning

if TYPE_CHECKING:
    from retrieval.dense.encoders import Vectors

BATCH: Final = 64
"""Searches per request."""
PAGE: Final = 1_000
ALIVE: Final = "5m"
_OF_A_NAME: Final = re.compile(r"-[0-9a-f]{12}-\d+$")
"""The suffix that an index's own name has, and its alias has not."""


ANNOTATIONS: Final = "annotations"
ANNOTATION: Final = "annotation_{}"
"""The field of the annotation as JSON; not searchable."""


class ElasticArguments:
    """An opened index on a server; threads can share it."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.connection = Connection(place(location))
        self._index = self.connection.where.index
        described = self.connection.ask(lambda es: es.indices.get(index=self._index)).body
        if len(described) != 1:
            raise OptionError(f"{location}: is a name of {len(described)} indexes; expected one")
        ((self.concrete, about),) = described.items()
        mapping = about.get("mappings") or {}
        self._properties: Mapping[str, Any] = mapping.get("properties") or {}
        self.ours: Mapping[str, Any] | None = (mapping.get("_meta") or {}).get(shape.MARK)
        self._settings = (about.get("settings") or {}).get("index") or {}
        if self.ours is not None:
            _check_ours(location, self.ours)

    def __reduce__(self) -> tuple[type[ElasticArguments], tuple[str]]:
        return type(self), (self.location,)

    @cached_property
    def meaning(self) -> Meaning | None:
        """Similarity by vectors, if the index is ours, has vectors and their encoder loads."""
        if self.ours is None:
            return None  # the official index: its encoder is large, and was not asked for
        from retrieval.dense.search import VectorMeaning, usable

        name = usable({one: self.encoded_fields(one) for one in self.encoders})
        return None if name is None else VectorMeaning(self, name)

    @cached_property
    def annotations(self) -> Mapping[str, Annotations]:
        """The annotations of the arguments by name, if they are complete."""
        return {
            name: ElasticAnnotations(self, name, about)
            for name, about in ((self.ours or {}).get(ANNOTATIONS) or {}).items()
            if about.get("complete")
        }

    @property
    def linked(self) -> bool:
        """Whether the index has the groups of its statements."""
        return self.ours is not None and shape.GROUPS in self._properties

    @property
    def fingerprint(self) -> str:
        """A digest of the content."""
        if self.ours is not None:
            return str(self.ours["collection"])[:16]
        content = f"{self._settings.get('uuid')} {len(self)}"
        return sha256(content.encode()).hexdigest()[:16]

    @cached_property
    def _count(self) -> int:
        return int(self.connection.ask(lambda es: es.count(index=self._index))["count"])

    def __len__(self) -> int:
        return self._count

    def get(self, argument_id: str) -> Argument | None:
        """Return the argument with this id, or None."""
        return self.get_all([argument_id])[0]

    def get_all(self, ids: Sequence[str]) -> list[Argument | None]:
        """Return the argument of each id, or None."""
        return [
            self._argument(source, shape.sendable(one)) if source else None
            for one, source in zip(ids, self.sources(ids), strict=True)
        ]

    def sources(self, ids: Sequence[str], *fields: str) -> list[Mapping[str, Any] | None]:
        """Return the document of each argument, with further fields, or None."""
        names = list(dict.fromkeys(one for one in map(shape.sendable, ids) if may_be_id(one)))
        parts = [names[at : at + PAGE] for at in range(0, len(names), PAGE)]
        bodies = [
            {"query": {"ids": {"values": part}}, "size": len(part), **self._body(*fields)}
            for part in parts
        ]
        held = {hit["_id"]: hit["_source"] for hits in self.searched(bodies) for hit in hits}
        return [self._own(one, held.get(shape.sendable(one))) for one in ids]

    def _own(self, argument_id: str, source: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return the document if it is this argument's; a replaced surrogate may match another."""
        if source is None or self._argument(source, shape.sendable(argument_id)).id != argument_id:
            return None
        return source

    def _argument(self, source: Mapping[str, Any], name: str) -> Argument:
        return shape.argument(source, name, ours=self.ours is not None)

    def update(self, argument_id: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the bulk action that adds fields to an argument's document."""
        name = shape.sendable(argument_id)
        return {"_op_type": "update", "_index": self.concrete, "_id": name, "doc": fields}

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument of a snapshot, in a fixed order."""
        for page in self.pages():
            yield from (argument for argument, _ in page)

    def pages(self, *fields: str) -> Iterator[list[tuple[Argument, Mapping[str, Any]]]]:
        """Yield pages of all arguments of a snapshot, with their documents."""
        ask = self.connection.ask
        snapshot = ask(lambda es: es.open_point_in_time(index=self._index, keep_alive=ALIVE))["id"]
        order = "order" if self.ours is not None else self._id_field or "_doc"
        body = {"size": PAGE, "sort": [{order: "asc"}], **self._body(*fields)}
        try:
            while True:
                body["pit"] = {"id": snapshot, "keep_alive": ALIVE}
                answer = ask(lambda es: es.search(**body))
                hits = answer["hits"]["hits"]
                if not hits:
                    return
                snapshot, body["search_after"] = answer["pit_id"], hits[-1]["sort"]
                yield [(self._argument(hit["_source"], hit["_id"]), hit["_source"]) for hit in hits]
        finally:
            ask(lambda es: es.close_point_in_time(id=snapshot))

    @cached_property
    def _id_field(self) -> str:
        about = self._properties.get("id") or {}
        if about.get("type") == "keyword":
            return "id"
        inner = about.get("fields") or {}
        return next((f"id.{key}" for key, one in inner.items() if one.get("type") == "keyword"), "")

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        """Return the best `k` arguments by one field."""
        return self.search_all(field, [query], k)[0]

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search many queries."""
        return [
            [
                Hit(
                    argument=self._argument(hit["_source"], hit["_id"]),
                    score=hit["_score"],
                    rank=rank,
                    path=(field,),
                )
                for rank, hit in enumerate(hits)
            ]
            for hits in self._best(field, queries, k)
        ]

    @property
    def encoders(self) -> Sequence[str]:
        """The encoders whose vectors the index has."""
        if self.ours is not None:
            return list(self.ours.get("encoders") or {})
        official = shape.vector_field("attacks", shape.OFFICIAL_VECTORS)
        return [shape.OFFICIAL_VECTORS] if official in self._properties else []

    def encoded_fields(self, encoder: str) -> Sequence[str]:
        """The fields that an encoder has encoded completely."""
        if encoder not in self.encoders:
            return []
        encoded = (self.ours or {}).get("encoded") or {}
        if encoder in encoded:
            return list(encoded[encoder])
        return [one for one in FIELDS if self._field(encoder, one) in self._properties]

    def _field(self, encoder: str, field: str) -> str:
        """Return the name of a field's vectors; it is not in the mapping if all texts are blank."""
        slug = encoder if self.ours is None else str(self.ours["encoders"][encoder])
        return shape.vector_field(field, slug)

    def nearest(
        self, encoder: str, field: str, queries: Vectors, k: int
    ) -> list[list[tuple[str, float]]]:
        """Return the ids of the nearest arguments of each query, with cosines."""
        name = self._vectors(encoder, field)
        if k <= 0 or name not in self._properties:
            return [[] for _ in queries]
        k, breadth = min(k, DEEPEST), min(DEEPEST, max(100, 10 * k))
        cosines = self._cosines([shape.nearest(name, query, k, breadth) for query in queries])
        return [sorted(one.items(), key=lambda hit: (-hit[1], hit[0].encode())) for one in cosines]

    def likeness(
        self, encoder: str, field: str, queries: Vectors, ids: Sequence[str]
    ) -> list[list[float]]:
        """Return the cosine of each query with each argument; 0 if it has no such text."""
        name = self._vectors(encoder, field)
        sent = [shape.sendable(one) for one in ids]
        cosines: list[dict[str, float]] = [{} for _ in queries]
        for at in range(0, len(sent) if name in self._properties else 0, PAGE):
            part = sent[at : at + PAGE]
            only = {"ids": {"values": part}}
            bodies = [
                shape.nearest(name, one, len(part), len(part), filter=only) for one in queries
            ]
            for of_query, of_part in zip(cosines, self._cosines(bodies), strict=True):
                of_query.update(of_part)
        return [[of_query.get(one, 0.0) for one in sent] for of_query in cosines]

    def _cosines(self, bodies: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
        """Return the cosines of each search by vectors; the server's score is (1 + cosine) / 2."""
        return [
            {hit["_id"]: 2 * hit["_score"] - 1 for hit in hits} for hits in self.searched(bodies)
        ]

    def _vectors(self, encoder: str, field: str) -> str:
        """Check encoder and field, and return the name of the field with the vectors."""
        if encoder not in self.encoders:
            raise OptionError(f"no vectors by {encoder!r}{nearest(encoder, self.encoders)}")
        fields = self.encoded_fields(encoder)
        if field not in fields:
            raise UserError(
                f"encoder {encoder!r} has no vectors of the field {field!r}{nearest(field, fields)}"
            )
        return self._field(encoder, field)

    def _body(self, *fields: str) -> dict[str, Any]:
        """Return what a search for arguments, and further fields, says."""
        ours: Any = [*shape.SOURCE, *fields]
        source = {"excludes": ["*_embedding_*"]} if self.ours is None else ours
        return {"_source": source, "track_total_hits": False}

    def _best(self, field: str, queries: Sequence[str], k: int) -> list[list[Any]]:
        check_field(field)
        best: list[list[Any]] = [[] for _ in queries]
        if k <= 0:
            return best
        query_of = shape.official_query if self.ours is None else shape.our_query
        bodies = {at: query_of(field, str(words)) for at, words in enumerate(queries)}
        ties = [{self._id_field: "asc"}] if self._id_field else []
        common = {"size": min(k, DEEPEST), "sort": [{"_score": "desc"}, *ties], **self._body()}
        sent = {at: {"query": query, **common} for at, query in bodies.items() if query}
        for at, hits in zip(sent, self.searched(list(sent.values())), strict=True):
            best[at] = sorted(hits, key=lambda hit: (-hit["_score"], hit["_id"].encode()))
        return best

    def searched(self, bodies: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
        """Return the hits of each search."""
        header = {"index": self._index, "allow_partial_search_results": False}
        if int(self._settings.get("number_of_shards") or 1) > 1:
            # Count words over all shards, so that the number of shards does not change scores.
            header["search_type"] = "dfs_query_then_fetch"
        hits: list[list[Any]] = []
        for start in range(0, len(bodies), BATCH):
            part = bodies[start : start + BATCH]
            lines = [line for body in part for line in (header, body)]
            hits += self.connection.ask(partial(_hits, searches=lines))
        return hits


class ElasticAnnotations:
    """The annotations of one name of an index on a server."""

    def __init__(self, index: ElasticArguments, name: str, about: Mapping[str, Any]) -> None:
        self._index = index
        self._field = ANNOTATION.format(name)
        self._about = about

    @property
    def fingerprint(self) -> str:
        """A digest of the annotator and the number of annotations."""
        about = json.dumps(self._about, sort_keys=True, default=str)
        return sha256(about.encode()).hexdigest()[:16]

    def get_all(self, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """Return the annotation of each argument, or None if there is none."""
        sources = self._index.sources(ids, self._field)
        return [json.loads((source or {}).get(self._field) or "null") for source in sources]


def _check_ours(location: str, ours: Mapping[str, Any]) -> None:
    """Reject an index of ours that is incomplete or was built differently."""
    name = _OF_A_NAME.sub("", location)
    again = f"build it again: touche-rad index SOURCE --to {name} --replace"
    refuse_newer(location, ours, shape.FORMAT)
    if ours.get("format") != shape.FORMAT:
        raise UserError(f"{location}: built by another version of touche-rad; {again}")
    if ours.get("analyser") != ANALYSER:
        other = f"{ours.get('analyser')!s:.60}"
        raise UserError(f"{location}: built with the analyser {other}, not {ANALYSER}; {again}")
    if not ours.get("complete"):
        raise UserError(f"{location}: loading was not finished; {again}")


def _hits(es: Any, searches: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Run several searches; a failed one raises the client's error for a single one."""
    from elasticsearch import ApiError

    answers = es.msearch(searches=searches)["responses"]
    for answer in answers:
        if answer.get("status", 200) != 200:
            meta: Any = SimpleNamespace(status=int(answer["status"]))
            raise ApiError("a search failed", meta=meta, body=dict(answer))
    return [answer["hits"]["hits"] for answer in answers]
