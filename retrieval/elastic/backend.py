"""Elasticsearch as an index backend: open, build, annotate, and add vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from retrieval._links import Link, alike
from retrieval.elastic import _shape as shape
from retrieval.elastic._annotations import annotate
from retrieval.elastic._arguments import ElasticArguments
from retrieval.elastic._connection import Connection, place
from retrieval.elastic._loading import load
from retrieval.index.statements import ROLES
from retrieval.index.store import digest
from touche_rad import plugins
from touche_rad.calls import run_sync
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.plugins import Annotator, IndexBackend, Services, VectorsWanted
from touche_rad.plugins.contracts import Of, Progress


class LinkedElasticIndex(ElasticArguments):
    """An index that was loaded with the groups of its statements."""

    def links(self, argument_id: str) -> list[Link]:
        """Return the arguments that share a statement with this one, as the local index does."""
        source = self.sources([argument_id], shape.GROUPS)[0]
        mine, groups = _with_groups(source) if source else (None, {})
        if mine is None or not groups:
            return []
        same = [
            {"terms": {f"{shape.GROUPS}.{theirs}": sorted(set(groups.values()))}}
            for theirs in ROLES
        ]
        sharing = {
            "query": {"bool": {"filter": {"bool": {"should": same}}}},
            "size": shape.DEEPEST,
            **self._body(shape.GROUPS),
        }
        others = sorted(
            (_with_groups(hit["_source"]) for hit in self.searched([sharing])[0]),
            key=lambda one: one[0].id.encode("utf-8", "surrogatepass"),
        )
        return [
            Link(other, role, theirs, alike(getattr(mine, role), getattr(other, theirs)))
            for role, group in groups.items()
            for other, held in others
            for theirs in ROLES
            if held.get(theirs) == group and other.id != mine.id
        ]


def _with_groups(source: Mapping[str, Any]) -> tuple[Argument, dict[str, int]]:
    """Return the argument of a document and the groups of its statements, in order of roles."""
    held = source.get(shape.GROUPS) or {}
    return shape.argument(source, ""), {role: held[role] for role in ROLES if role in held}


class ElasticIndexes(IndexBackend):
    """An index on Elasticsearch: elasticsearch:URL/NAME."""

    needs = ("extra:elasticsearch/elasticsearch",)

    class Options(plugins.Options):
        """How an index is spread over a cluster."""

        shards: int = Field(1, ge=1, le=1024, description="number of shards")
        replicas: int = Field(0, ge=0, le=64, description="copies of each shard on other nodes")

    def __init__(self, options: Any, services: Services) -> None:
        self._options = options

    def exists(self, location: str) -> bool:
        """Whether the server has an index or alias of this name."""
        connection = Connection(place(location))
        name = connection.where.index
        return connection.ask(lambda es: bool(es.indices.exists(index=name)))

    def open(self, location: str) -> ElasticArguments:
        """Open an index on a server."""
        index = ElasticArguments(location)
        return LinkedElasticIndex(location) if index.linked else index

    def build(self, arguments: Iterable[Argument], location: str, *, replace: bool = False) -> int:
        """Load an index; its name points to it once it is complete."""
        return load(arguments, location, replace=replace, **self._options.model_dump())

    def annotate(
        self, location: str, annotator: Annotator, *, of: Of = None, report: Progress | None = None
    ) -> int:
        """Annotate the arguments of an index of ours; a killed run is resumed."""
        return run_sync(annotate(_open(location, of), annotator, report))

    def check_vectors(self, wanted: VectorsWanted) -> None:
        """Load the encoder, which may need an extra."""
        from retrieval.dense.search import loaded

        loaded(wanted.encoder)

    def add_vectors(
        self, location: str, wanted: VectorsWanted, *, of: Of = None, report: Progress | None = None
    ) -> int:
        """Encode the arguments of an index of ours; a killed run is resumed."""
        from retrieval.dense.search import loaded
        from retrieval.elastic._vectors import add_vectors

        return add_vectors(_open(location, of), loaded(wanted.encoder), wanted, report)


def _open(location: str, of: Of) -> ElasticArguments:
    """Open an index; reject one that contains other arguments than these."""
    index = ElasticArguments(location)
    if of is not None and digest(of) != (index.ours or {}).get("collection"):
        raise UserError(f"{location} contains other arguments: build it again with --replace")
    return index
