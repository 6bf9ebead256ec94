"""Elasticsearch as an index backend: open and build."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Annotated, Any

from pydantic import Field

from retrieval.elastic._arguments import ElasticArguments
from retrieval.elastic._connection import Connection
from retrieval.elastic._loading import load
from touche_rad import plugins
from touche_rad.debate import Argument
from touche_rad.plugins import IndexBackend, Services


class ElasticIndexes(IndexBackend):
    """An index on Elasticsearch: elasticsearch:URL/NAME."""

    needs = ("extra:elasticsearch/elasticsearch",)

    class Options(plugins.Options):
        """How an index is spread over a cluster."""

        shards: Annotated[int, Field(ge=1, le=1024)] = 1
        """number of shards"""
        replicas: Annotated[int, Field(ge=0, le=64)] = 0
        """copies of each shard on other nodes"""

    def __init__(self, options: Any, services: Services) -> None:
        self._options = options

    def exists(self, location: str) -> bool:
        """Whether the server has an index or alias of this name."""
        with closing(Connection(location)) as connection:
            return connection.has_index()

    def open(self, location: str) -> ElasticArguments:
        """Open an index on a server."""
        return ElasticArguments(location)

    def build(self, arguments: Iterable[Argument], location: str, *, replace: bool = False) -> int:
        """Load an index; its name points to it once it is complete."""
        return load(arguments, location, replace=replace, **self._options.model_dump())
