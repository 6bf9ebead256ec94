"""Elasticsearch as a place for indexes, and dumping an index to a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import Field

from retrieval.elastic.arguments import ElasticArguments
from retrieval.elastic.connection import SCHEME, Connection, place
from retrieval.elastic.linked import opened
from retrieval.elastic.loading import load
from touche_rad import files, plugins
from touche_rad.debate import Argument
from touche_rad.debaters.rdebater.schemes import Annotator, Cost
from touche_rad.errors import UserError
from touche_rad.models.context import run_sync
from touche_rad.plugins import Services, VectorsWanted


def dump(location: str, path: Path, report: Callable[[int, int], None] | None = None) -> int:
    """Write all arguments of an index to a file of JSON lines, and return how many there are.

    Beside the file, until it is whole, `.part` holds what has come and `.mark` up to where. An
    index whose order does not outlast a connection is begun anew.
    """
    index = ElasticArguments(location)
    part, mark = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.mark")
    path.parent.mkdir(parents=True, exist_ok=True)
    at = _mark(mark, index)
    total, done = len(index), int(at["done"])
    with part.open("ab") as out:
        out.truncate(int(at["bytes"]))
        for after, arguments in index.pages(at["after"]):
            lines = "".join(files.argument_line(one) + "\n" for one in arguments)
            out.write(lines.encode("utf-8", "surrogatepass"))
            out.flush()
            os.fsync(out.fileno())
            done += len(arguments)
            _note(mark, index, {"after": list(after), "bytes": out.tell(), "done": done})
            if report is not None:
                report(done, total)
    part.rename(path)
    mark.unlink(missing_ok=True)
    return done


def _mark(path: Path, index: ElasticArguments) -> dict[str, Any]:
    """How far a killed dump of the same index came."""
    begun = {"after": None, "bytes": 0, "done": 0}
    if index.order == "_doc":
        return begun
    try:
        noted = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return begun
    if noted.get("of") != [index.location, index.fingerprint]:
        return begun
    return {key: noted[key] for key in begun}


def _note(path: Path, index: ElasticArguments, at: dict[str, Any]) -> None:
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps({"of": [index.location, index.fingerprint], **at}), "utf-8")
    beside.replace(path)


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
        return run_sync(annotate(location, annotator, report))

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
    from retrieval.index.store import digest

    ours = ElasticArguments(location).ours or {}
    if of is not None and digest(of) != ours.get("collection"):
        raise UserError(f"{location} holds other arguments: --replace makes it anew")
