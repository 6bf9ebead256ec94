"""Search an index on Elasticsearch: the official one, or one built by touche-rad."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from retrieval._links import Link, link_between
from retrieval._server import close_connections
from retrieval.elastic import _shape as shape
from retrieval.elastic._connection import Connection
from retrieval.elastic._shape import DEEPEST
from retrieval.index.analyser import FIELDS, TOPICS, FieldTexts, check_field
from retrieval.index.analyser import NAME as ANALYSER
from retrieval.index.postings import Postings, search_all
from retrieval.index.statements import ROLES
from touche_rad.debate import Argument, Hit, may_be_id
from touche_rad.errors import OptionError, UserError, nearest, refuse_newer
from touche_rad.lists import in_parts, unique
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import digest_of_text

if TYPE_CHECKING:
    from retrieval.dense.encoders import Vectors

BATCH: Final = 16
"""Searches per request: the reply to the deepest ones of long arguments is not too large."""
PAGE: Final = 1_000
ALIVE: Final = "5m"
_SUFFIX: Final = re.compile(r"-[0-9a-f]{12}-\d+$")
"""The suffix that an index's own name has, and its alias has not."""


class ElasticArguments(ArgumentIndex):
    """An opened index on a server; threads can share it."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.connection = Connection(location)
        self._index = self.connection.where.index
        described = self.connection.ask(lambda es: es.indices.get(index=self._index)).body
        if not isinstance(described, dict) or not all(
            isinstance(about, dict) for about in described.values()
        ):
            raise UserError(f"{location}: the server is not Elasticsearch: check the address")
        if len(described) != 1:
            raise OptionError(f"{location}: is a name of {len(described)} indexes; expected one")
        (about,) = described.values()
        mapping = about.get("mappings") or {}
        self._properties: Mapping[str, Any] = mapping.get("properties") or {}
        self.ours: Mapping[str, Any] | None = (mapping.get("_meta") or {}).get(shape.MARK)
        self._settings = (about.get("settings") or {}).get("index") or {}
        if self.ours is not None:
            refuse_newer(location, self.ours, shape.FORMAT)
            fault = ""
            if (self.ours.get("format"), self.ours.get("analyser")) != (shape.FORMAT, ANALYSER):
                fault = "the index was built by another version of touche-rad"
            elif not self.ours.get("complete"):
                fault = "loading was not finished"
            if fault:
                raise UserError(
                    f"{location}: {fault}; build it again: "
                    f"touche-rad index SOURCE --to {_SUFFIX.sub('', location)} --replace"
                )

    def close(self) -> None:
        """Close the connections to the servers, also to those of encoders and rerankers."""
        self.connection.close()
        close_connections()

    @property
    def links(self) -> Callable[[str], list[Link]] | None:
        """Returns the links of an argument; None if the index stores none (the official one)."""
        return None if self.ours is None else self._links

    def _links(self, argument_id: str) -> list[Link]:
        """Return the arguments that share a statement with this one, as the local index does."""
        source = self._sources([argument_id], shape.GROUPS).get(argument_id)
        groups = (source or {}).get(shape.GROUPS)
        if not groups:
            return []
        numbers = sorted(set(groups.values()))
        same = [{"terms": {f"{shape.GROUPS}.{role}": numbers}} for role in ROLES]
        sharing = {
            "query": {"bool": {"filter": {"bool": {"should": same}}}},
            "size": DEEPEST,
            **self._body(shape.GROUPS),
        }
        hits = sorted(self._searched([sharing])[0], key=lambda hit: hit["_id"].encode())
        argument = self._argument(source, argument_id)
        linked = [
            (self._argument(hit["_source"], hit["_id"]), hit["_source"][shape.GROUPS])
            for hit in hits
            if hit["_id"] != argument_id
        ]
        links: list[Link] = []
        for from_role in filter(groups.__contains__, ROLES):
            for candidate, its_groups in linked:
                for to_role in ROLES:
                    if its_groups.get(to_role) == groups[from_role]:
                        links.append(link_between(argument, from_role, candidate, to_role))
        return links

    @property
    def fingerprint(self) -> str:
        """A digest of the content."""
        if self.ours is not None:
            return str(self.ours["collection"])[:16]
        return digest_of_text(f"{self._settings.get('uuid')} {len(self)}", 16)

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
        sources = self._sources(ids)
        return [self._argument(sources[id_], id_) if id_ in sources else None for id_ in ids]

    def _sources(self, ids: Sequence[str], *fields: str) -> dict[str, Any]:
        """Return the documents of the arguments, with further fields, by their ids."""
        names = unique(filter(may_be_id, ids))
        bodies: list[dict[str, Any]] = []
        for page in in_parts(names, PAGE):
            bodies.append(
                {"query": {"ids": {"values": page}}, "size": len(page), **self._body(*fields)}
            )
        return {hit["_id"]: hit["_source"] for hit in chain.from_iterable(self._searched(bodies))}

    def _argument(self, source: Any, name: str) -> Argument:
        return shape.argument(source, name, ours=self.ours is not None)

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument of a snapshot, in a fixed order."""
        ask = self.connection.ask
        snapshot = ask(lambda es: es.open_point_in_time(index=self._index, keep_alive=ALIVE))["id"]
        order = "order" if self.ours is not None else self._id_field or "_doc"
        body = {"size": PAGE, "sort": [{order: "asc"}], **self._body()}
        try:
            while True:
                body["pit"] = {"id": snapshot, "keep_alive": ALIVE}
                answer = ask(lambda es: es.search(**body))
                hits = answer["hits"]["hits"]
                if not hits:
                    return
                snapshot = answer["pit_id"]
                body["search_after"] = hits[-1]["sort"]
                for hit in hits:
                    yield self._argument(hit["_source"], hit["_id"])
        finally:
            ask(lambda es: es.close_point_in_time(id=snapshot))

    @cached_property
    def _id_field(self) -> str:
        about = self._properties.get("id") or {}
        if about.get("type") == "keyword":
            return "id"
        for name, field in (about.get("fields") or {}).items():
            if field.get("type") == "keyword":
                return f"id.{name}"
        return ""

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search many queries."""
        check_field(field)
        results: list[list[Hit]] = [[] for _ in queries]
        if k <= 0:
            return results
        if field == TOPICS:
            arguments, topics = self._topics
            return (
                search_all(topics, arguments.__getitem__, field, queries, k) if topics else results
            )
        query_of = shape.official_query if self.ours is None else shape.our_query
        ties = [{self._id_field: "asc"}] if self._id_field else []
        common = {"size": min(k, DEEPEST), "sort": [{"_score": "desc"}, *ties], **self._body()}
        bodies: dict[int, dict[str, Any]] = {}
        for place, words in enumerate(queries):
            query = query_of(field, str(words))
            if query:
                bodies[place] = {"query": query, **common}
        for place, hits in zip(bodies, self._searched(list(bodies.values())), strict=True):
            hits.sort(key=lambda hit: (-hit["_score"], hit["_id"].encode()))
            results[place] = [
                Hit(
                    argument=self._argument(hit["_source"], hit["_id"]),
                    score=hit["_score"],
                    rank=rank,
                    path=(field,),
                )
                for rank, hit in enumerate(hits)
            ]
        return results

    @cached_property
    def _topics(self) -> tuple[Sequence[Argument], Postings | None]:
        """All arguments, and the words of their topics: the server cannot add up documents."""
        arguments = list(self.arguments())
        texts = FieldTexts()
        for argument in arguments:
            texts.add(argument)
        documents = texts.documents(range(len(arguments))).get(TOPICS)
        return arguments, Postings.build(documents, TOPICS) if documents else None

    @property
    def encoders(self) -> Sequence[str]:
        """The encoder of the official index, if it is this one; ours have no vectors."""
        official = shape.vector_field("attacks")
        return [shape.OFFICIAL_VECTORS] if official in self._properties else []

    def nearest(
        self, encoder: str, field: str, queries: Vectors, k: int
    ) -> list[list[tuple[str, float]]]:
        """Return the ids of the nearest arguments of each query, with cosines."""
        fields = [name for name in FIELDS if shape.vector_field(name) in self._properties]
        if field not in fields:
            raise UserError(
                f"encoder {encoder!r} has no vectors of the field {field!r}{nearest(field, fields)}"
            )
        if k <= 0:
            return [[] for _ in queries]
        k = min(k, DEEPEST)
        candidates = min(DEEPEST, max(100, 10 * k))
        name = shape.vector_field(field)
        bodies = [shape.nearest(name, query, k, candidates) for query in queries]
        results: list[list[tuple[str, float]]] = []
        for hits in self._searched(bodies):
            # The server's score is (1 + cosine) / 2.
            cosines = [(hit["_id"], 2 * hit["_score"] - 1) for hit in hits]
            results.append(sorted(cosines, key=lambda near: (-near[1], near[0].encode())))
        return results

    def _body(self, *fields: str) -> dict[str, Any]:
        source: object = [*shape.SOURCE, *fields]
        if self.ours is None:
            source = {"excludes": ["*_embedding_*"]}
        return {"_source": source, "track_total_hits": False}

    def _searched(self, bodies: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
        header = {"index": self._index, "allow_partial_search_results": False}
        if int(self._settings.get("number_of_shards") or 1) > 1:
            # Count words over all shards, so that the number of shards does not change scores.
            header["search_type"] = "dfs_query_then_fetch"
        hits: list[list[object]] = []
        for part in in_parts(bodies, BATCH):
            lines: list[Mapping[str, Any]] = []
            for body in part:
                lines += (header, body)
            hits += self.connection.ask(partial(_hits, searches=lines))
        return hits


def _hits(es: Any, searches: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Run several searches; a failed one raises the client's error for a single one."""
    from elasticsearch import ApiError

    answers = es.msearch(searches=searches)["responses"]
    for answer in answers:
        if answer.get("status", 200) != 200:
            meta: Any = SimpleNamespace(status=int(answer["status"]))
            raise ApiError("a search failed", meta=meta, body=dict(answer))
    return [answer["hits"]["hits"] for answer in answers]
