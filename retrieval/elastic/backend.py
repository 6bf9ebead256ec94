"""Elasticsearch as an index backend: open, build, and add vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import Field

from retrieval.elastic._arguments import ElasticArguments
from retrieval.elastic._connection import Connection, place
from retrieval.elastic._loading import load
from retrieval.index.store import digest
from touche_rad import plugins
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.plugins import IndexBackend, Services, VectorsWanted
from touche_rad.plugins.contracts import Of, Progress


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
        return ElasticArguments(location)

    def build(self, arguments: Iterable[Argument], location: str, *, replace: bool = False) -> int:
        """Load an index; its name points to it once it is complete."""
        return load(arguments, location, replace=replace, **self._options.model_dump())

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

        index = ElasticArguments(location)
        if index.ours is None:
            raise UserError(f"{location} was not built by touche-rad: it is not changed")
        if of is not None and digest(of) != index.ours["collection"]:
            raise UserError(f"{location} contains other arguments: build it again with --replace")
        return add_vectors(index, loaded(wanted.encoder), wanted, report)
