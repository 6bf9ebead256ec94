"""Search an index on Elasticsearch: the official one, or one built by touche-rad."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from hashlib import sha256
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from retrieval.elastic import shape
from retrieval.elastic.connection import Connection, may_be_id, place
from retrieval.elastic.shape import DEEPEST
from retrieval.index.analyser import FIELDS, known
from retrieval.index.analyser import NAME as ANALYSER
from touche_rad.debate import Argument, Hit
from touche_rad.errors import OptionError, UserError, nearest, refuse_newer

if TYPE_CHECKING:
    from retrieval.dense.encoders import Vectors
    from retrieval.searching import FieldSearch

BATCH: Final = 64
"""Searches per request."""
PAGE: Final = 1_000
ALIVE: Final = "5m"
_OF_A_NAME: Final = re.compile(r"-[0-9a-f]{12}-\d+$")
"""The suffix that an index's own name has, and its alias has not."""


class ElasticArguments:
    """An opened index on a server; threads can share it."""

    def __init__(self, location: str) -> None:
        self.location = location
        self._connection = Connection(place(location))
        self._index = self._connection.where.index
        described = self._connection.ask(lambda es: es.indices.get(index=self._index)).body
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
        return int(self._connection.ask(lambda es: es.count(index=self._index))["count"])

    def __len__(self) -> int:
        return self._count

    def get(self, argument_id: str) -> Argument | None:
        """Return the argument with this id, or None."""
        return self.get_all([argument_id])[0]

    def get_all(self, ids: Sequence[str]) -> list[Argument | None]:
        """Return the argument of each id, or None."""
        found = self._sources(ids, self._source)
        return [
            shape.argument(source, shape.sendable(one)) if source else None
            for one, source in zip(ids, found, strict=True)
        ]

    def _sources(
        self, ids: Sequence[str], wanted: Mapping[str, Any]
    ) -> list[Mapping[str, Any] | None]:
        """Return fields of the document of each argument, or None."""
        names = list(dict.fromkeys(one for one in map(shape.sendable, ids) if may_be_id(one)))
        parts = [names[at : at + PAGE] for at in range(0, len(names), PAGE)]
        bodies = [
            {
                "query": {"ids": {"values": part}},
                "size": len(part),
                "track_total_hits": False,
                **wanted,
            }
            for part in parts
        ]
        held = {hit["_id"]: hit["_source"] for hits in self._searched(bodies) for hit in hits}
        return [self._own(one, held.get(shape.sendable(one))) for one in ids]

    def _own(self, argument_id: str, source: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return the document if it is this argument's; a replaced surrogate may match another."""
        if source is None:
            return None
        if "line" in source:
            return source if shape.argument(source, "").id == argument_id else None
        return source if argument_id == shape.sendable(argument_id) else None

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument of a snapshot, in a fixed order."""
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[Argument]]:
        """Yield pages of all arguments of a snapshot."""
        ask = self._connection.ask
        snapshot = ask(lambda es: es.open_point_in_time(index=self._index, keep_alive=ALIVE))["id"]
        order = "order" if self.ours is not None else self._id_field or "_doc"
        after: dict[str, Any] = {}
        try:
            while True:
                body: dict[str, Any] = {
                    "size": PAGE,
                    "pit": {"id": snapshot, "keep_alive": ALIVE},
                    "sort": [{order: "asc"}],
                    "track_total_hits": False,
                    **self._source,
                    **after,
                }
                answer = ask(partial(_search, body=body))
                hits = answer["hits"]["hits"]
                if not hits:
                    return
                snapshot, after = answer["pit_id"], {"search_after": hits[-1]["sort"]}
                yield [shape.argument(hit["_source"], hit["_id"]) for hit in hits]
        finally:
            ask(lambda es: es.close_point_in_time(id=snapshot))

    @cached_property
    def _id_field(self) -> str:
        about = self._properties.get("id") or {}
        if about.get("type") == "keyword":
            return "id"
        inner = about.get("fields") or {}
        return next((f"id.{key}" for key, one in inner.items() if one.get("type") == "keyword"), "")

    def scored(self, field: str, queries: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """Return the best ids of each query with scores; equal scores are sorted by id."""
        found = self._best(field, queries, k, {"_source": False})
        return [[(hit["_id"], hit["_score"]) for hit in hits] for hits in found]

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        """Return the best `k` arguments by one field."""
        return self.search_all(field, [query], k)[0]

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search many queries."""
        return [
            [
                Hit(
                    argument=shape.argument(hit["_source"], hit["_id"]),
                    score=hit["_score"],
                    rank=rank,
                    path=(field,),
                )
                for rank, hit in enumerate(hits)
            ]
            for hits in self._best(field, queries, k, self._source)
        ]

    def pipeline(self, field: str, k: int) -> FieldSearch:
        """Return the search of one field as a PyTerrier transformer."""
        from retrieval.searching import FieldSearch

        return FieldSearch(self, field, k)

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
        bodies = [shape.nearest(name, query, k) for query in queries]
        return [
            sorted(
                ((hit["_id"], shape.cosine(hit["_score"])) for hit in hits),
                key=lambda hit: (-hit[1], hit[0].encode()),
            )
            for hits in self._searched(bodies)
        ]

    def likeness(
        self, encoder: str, field: str, queries: Vectors, ids: Sequence[str]
    ) -> list[list[float]]:
        """Return the cosine of each query with each argument; 0 if it has no such text."""
        name = self._vectors(encoder, field)
        sent = [shape.sendable(one) for one in ids]
        parts = [sent[at : at + PAGE] for at in range(0, len(sent), PAGE)]
        if name not in self._properties:
            parts = []
        bodies = [shape.likeness(name, query, part) for query in queries for part in parts]
        answers = iter(self._searched(bodies))
        found = []
        for _ in queries:
            hits = [hit for _ in parts for hit in next(answers)]
            cosines = {hit["_id"]: shape.cosine(hit["_score"]) for hit in hits}
            found.append([cosines.get(one, 0.0) for one in sent])
        return found

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

    @property
    def _source(self) -> dict[str, Any]:
        if self.ours is not None:
            return {"_source": shape.SOURCE}
        return {"_source": {"excludes": ["*_embedding_*"]}}

    def _best(
        self, field: str, queries: Sequence[str], k: int, source: Mapping[str, Any]
    ) -> list[list[Any]]:
        known(field)
        found: list[list[Any]] = [[] for _ in queries]
        if k <= 0:
            return found
        made = shape.official_query if self.ours is None else shape.our_query
        asked = {
            at: query
            for at, words in enumerate(queries)
            if (query := made(field, str(words))) is not None
        }
        ties = [{self._id_field: "asc"}] if self._id_field else []
        common = {
            "size": min(k, DEEPEST),
            "sort": [{"_score": "desc"}, *ties],
            "track_total_hits": False,
            **source,
        }
        bodies = [{"query": query, **common} for query in asked.values()]
        for at, hits in zip(asked, self._searched(bodies), strict=True):
            found[at] = sorted(hits, key=lambda hit: (-hit["_score"], hit["_id"].encode()))
        return found

    def _searched(self, bodies: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
        found: list[list[Any]] = []
        header = {"index": self._index, "allow_partial_search_results": False}
        if int(self._settings.get("number_of_shards") or 1) > 1:
            # Count words over all shards, so that the number of shards does not change scores.
            header["search_type"] = "dfs_query_then_fetch"
        for start in range(0, len(bodies), BATCH):
            part = bodies[start : start + BATCH]
            lines = [line for body in part for line in (header, body)]
            found += self._connection.ask(_searching(lines))
        return found


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


def _search(es: Any, body: Mapping[str, Any]) -> Any:
    return es.search(**body)


def _searching(lines: Sequence[Mapping[str, Any]]) -> Callable[[Any], list[list[Any]]]:
    def searched(es: Any) -> list[list[Any]]:
        answers = es.msearch(searches=lines)["responses"]
        for answer in answers:
            if answer.get("status", 200) != 200:
                raise _failed(answer)
        return [answer["hits"]["hits"] for answer in answers]

    return searched


def _failed(answer: Mapping[str, Any]) -> Exception:
    """Return the error of one search of several as the client would raise it."""
    from elasticsearch import ApiError

    meta: Any = SimpleNamespace(status=int(answer["status"]))
    fault: Exception = ApiError("a search failed", meta=meta, body=dict(answer))
    return fault
