"""Elasticsearch as a home for indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import Field

from retrieval.elastic.arguments import ElasticArguments
from retrieval.elastic.connection import SCHEME, Connection, place
from retrieval.elastic.dump import dump
from retrieval.elastic.linked import opened
from retrieval.elastic.loading import load
from touche_rad import plugins
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.models.waiting import waited
from touche_rad.plugins import Services, VectorsWanted
from touche_rad.schemes import Annotator, Cost


class ElasticIndexes:
    """An index on Elasticsearch: elasticsearch:URL/NAME."""

    needs = ("extra:elasticsearch/elasticsearch",)

    class Options(plugins.Options):
        """How an index is spread over a cluster."""

        shards: int = Field(1, ge=1, le=1024, description="parts that the index is cut into")
        replicas: int = Field(0, ge=0, le=64, description="copies of each part on other nodes")

    def __init__(self, options: Any, services: Services) -> None:
        self._options = options

    def accepts(self, location: str) -> bool:
        """Whether this is an address on Elasticsearch."""
        return location.startswith(SCHEME)

    def exists(self, location: str) -> bool:
        """Whether the server has something of this name."""
        connection = Connection(place(location))
        name = connection.where.index
        return connection.ask(lambda es: bool(es.indices.exists(index=name)))

    def open(self, location: str) -> ElasticArguments:
        """Open an index on a server."""
        return opened(location)

    def build(self, arguments: Iterable[Argument], location: str, *, replace: bool = False) -> int:
        """Load an index; its name goes over to it when it is whole."""
        chosen = self._options
        return load(
            arguments, location, replace=replace, shards=chosen.shards, replicas=chosen.replicas
        )

    def dump(
        self, location: str, path: Path, report: Callable[[int, int], None] | None = None
    ) -> int:
        """Write all arguments of an index to a file; a killed dump goes on."""
        return dump(location, path, report)

    def annotate(
        self,
        location: str,
        annotator: Annotator,
        *,
        of: Iterable[Argument] | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> int:
        """Annotate what an index of ours holds; a killed run is gone on with."""
        from retrieval.elastic.memory import annotate

        _holds(location, of)
        return waited(annotate(location, annotator, report))

    def cost_of_annotating(self, location: str, annotator: Annotator) -> Cost:
        """Return what annotating what is left will take, about."""
        from retrieval.elastic.memory import cost

        return cost(location, annotator)

    def add_vectors(
        self,
        location: str,
        wanted: VectorsWanted,
        *,
        of: Iterable[Argument] | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> int:
        """Encode what an index of ours holds; a killed run is gone on with."""
        from retrieval.dense.search import loaded
        from retrieval.elastic.vectors import add_vectors

        if wanted.graph:
            raise UserError("Elasticsearch makes its own graph: leave --dense-graph out")
        _holds(location, of)
        return add_vectors(location, loaded(wanted.encoder), wanted, report)


def _holds(location: str, of: Iterable[Argument] | None) -> None:
    """Refuse an index that holds other arguments than these."""
    from retrieval.store import digest

    ours = ElasticArguments(location).ours or {}
    if of is not None and digest(of) != ours.get("collection"):
        raise UserError(f"{location} holds other arguments: --replace makes it anew")
