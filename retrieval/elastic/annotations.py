"""Annotations on Elasticsearch: in the documents of an index that touche-rad made.

A killed run is resumed: annotated documents have the field `annotated_NAME`. The index says when
all documents are annotated. Texts of one call are always asked together, so that the answers do not
depend on where a run was killed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from retrieval.elastic import shape
from retrieval.elastic.arguments import PAGE, ElasticArguments
from retrieval.elastic.connection import Connection, may_be_id, place
from retrieval.elastic.loading import send, settle, update_description
from retrieval.index.annotations import CALLS, check_annotator, plain, report_part
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.plugins import Annotator
from touche_rad.plugins.contracts import Progress

ANNOTATIONS: Final = "annotations"
VALID: Final = "annotated_{}"
"""The field that says whether the model had a valid annotation."""
TEXT: Final = "annotation_{}"
"""The field of the annotation as JSON; not searchable."""


async def annotate(location: str, annotator: Annotator, report: Progress | None) -> int:
    """Annotate the arguments of an index and return how many have an annotation.

    Returns 0 if they were annotated before.

    Raises:
        UserError: There are annotations of this name by another annotator.
        WorkError: The model cannot be reached; finished blocks are kept.
    """
    index = ElasticArguments(location)
    if index.ours is None:
        raise UserError(f"{location} was not made by touche-rad: it cannot be annotated")
    about = (index.ours.get(ANNOTATIONS) or {}).get(annotator.name)
    if about:
        check_annotator(about["by"], annotator, "build the index again with --replace")
        if about.get("complete"):
            return 0
    connection = Connection(place(location))
    valid = VALID.format(annotator.name)
    mapping = {valid: {"type": "boolean"}}
    connection.ask(lambda es: es.indices.put_mapping(index=index.concrete, properties=mapping))
    _tell(connection, index.concrete, annotator, {"complete": False})
    total, before = len(index), 0
    for page in index.pages():
        size = CALLS * annotator.per_call
        for start in range(0, len(page), size):
            done = partial(report_part, report, before + start, total)
            await _annotate_block(
                connection, index.concrete, page[start : start + size], annotator, done
            )
        before += len(page)
    settle(connection, index.concrete)
    known = {"term": {valid: True}}
    count = connection.ask(lambda es: int(es.count(index=index.concrete, query=known)["count"]))
    _tell(connection, index.concrete, annotator, {"complete": True, "annotated": count})
    return count


async def _annotate_block(
    connection: Connection,
    concrete: str,
    part: Sequence[Argument],
    annotator: Annotator,
    report: Callable[[int], None],
) -> None:
    """Annotate the calls of a block in which an argument is not annotated."""
    valid, step = VALID.format(annotator.name), annotator.per_call
    ids = [shape.sendable(one.id) for one in part]
    sources = connection.ask(partial(_sources, index=concrete, ids=ids, fields=[valid]))
    done = [valid in (source or {}) for source in sources]
    missing = [
        one
        for start in range(0, len(part), step)
        if not all(done[start : start + step])
        for one in part[start : start + step]
    ]
    if missing:
        annotations = await annotator.annotate_all([one.text for one in missing], lambda _: None)
        text = TEXT.format(annotator.name)
        send(
            connection,
            [
                (
                    {"update": {"_index": concrete, "_id": shape.sendable(argument.id)}},
                    {"doc": {valid: annotation is not None, text: json.dumps(annotation)}},
                )
                for argument, annotation in zip(missing, annotations, strict=True)
            ],
        )
    report(len(part))


class ElasticAnnotations:
    """The annotations of one name of an index on a server."""

    def __init__(self, location: str, name: str, about: Mapping[str, Any]) -> None:
        """Keep what the index says about them; no request is sent yet."""
        self._connection = Connection(place(location))
        self._field = TEXT.format(name)
        self._about = about

    @property
    def fingerprint(self) -> str:
        """A digest of the annotator and the number of annotations."""
        about = json.dumps(self._about, sort_keys=True, default=str)
        return hashlib.sha256(about.encode()).hexdigest()[:16]

    def get_all(self, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """Return the annotation of each argument, or None if there is none."""
        sent = [name if may_be_id(name := shape.sendable(one)) else "" for one in ids]
        asked = sorted({name for name in sent if name})
        found: dict[str, Mapping[str, Any] | None] = {}
        for start in range(0, len(asked), PAGE):
            part = asked[start : start + PAGE]
            request = partial(
                _sources, index=self._connection.where.index, ids=part, fields=[self._field]
            )
            for name, source in zip(part, self._connection.ask(request), strict=True):
                found[name] = json.loads((source or {}).get(self._field) or "null")
        return [found.get(name) for name in sent]


def _sources(
    es: Any, index: str, ids: Sequence[str], fields: Sequence[str]
) -> list[Mapping[str, Any] | None]:
    found = es.mget(index=index, ids=list(ids), source_includes=list(fields))["docs"]
    return [one.get("_source") for one in found]


def _tell(
    connection: Connection, concrete: str, annotator: Annotator, about: Mapping[str, Any]
) -> None:
    """Store in the index what is known about its annotations."""
    entry = {"by": plain(annotator), **about}
    update_description(
        connection,
        concrete,
        lambda description: {
            **description,
            ANNOTATIONS: {**(description.get(ANNOTATIONS) or {}), annotator.name: entry},
        },
    )
