"""The argument memory on Elasticsearch: in the documents of an index of ours.

Each document says by whom it was annotated, so that a killed run goes on; the index says at last
that all of it is. What calls were made together is asked together again, so that answers do not
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
from retrieval.elastic.loading import send, tell
from touche_rad.debate import Argument
from touche_rad.debaters.rdebater.memory.building import CALLS, block, plain
from touche_rad.debaters.rdebater.schemes import Annotation, Annotator, Cost
from touche_rad.errors import UserError
from touche_rad.models import ModelError

MEMORY: Final = "memory"
BY: Final = "annotated_by"
SCHEMES: Final = "schemes"
_MAPPING: Final = {BY: {"type": "keyword"}, SCHEMES: {"type": "keyword"}}

Report = Callable[[int, int], None]


def cost(location: str, annotator: Annotator) -> Cost:
    """Return what annotating what is left takes."""
    index = _ours(location)
    told = (index.ours or {}).get(MEMORY) or {}
    query = {"term": {BY: _slug(annotator)}}
    connection = Connection(place(location))
    connection.ask(lambda es: es.indices.refresh(index=index.concrete))  # a killed run told nobody
    done = connection.ask(lambda es: int(es.count(index=index.concrete, query=query)["count"]))
    left = 0 if told.get("complete") else len(index) - done
    sample = next((page for _, page in index.pages()), [])
    letters = sum(len(one.text) for one in sample)
    return annotator.cost(left, letters * left // max(1, len(sample)))


async def annotate(location: str, annotator: Annotator, report: Report | None) -> int:
    """Annotate what the index holds; 0 where it is annotated already.

    Raises:
        UserError: It was annotated otherwise, wholly or in part.
        WorkError: The model could not be asked; what is done is kept.
    """
    index = _ours(location)
    told = (index.ours or {}).get(MEMORY) or {}
    if told and plain(told["by"]) != plain(annotator.identity):
        raise UserError(f"{location} was annotated otherwise: load it anew with --replace")
    if told.get("complete"):
        return 0
    connection = Connection(place(location))
    connection.ask(lambda es: es.indices.put_mapping(index=index.concrete, properties=_MAPPING))
    _tell(connection, index.concrete, {"by": annotator.identity, "complete": False})
    total, before = len(index), 0
    for _, page in index.pages():
        size = CALLS * annotator.per_call
        for start in range(0, len(page), size):
            part = page[start : start + size]
            done = partial(_told, report, before + start, total)
            await _annotated(connection, index.concrete, part, annotator, done)
        before += len(page)
    connection.ask(lambda es: es.indices.refresh(index=index.concrete))
    known = connection.ask(
        lambda es: int(es.count(index=index.concrete, query=_WITH_MARKS)["count"])
    )
    _tell(
        connection, index.concrete,
        {"by": annotator.identity, "complete": True, "annotated": known},
    )  # fmt: skip
    return known


_FAILED: Final = "failed"
_WITH_MARKS: Final = {
    "bool": {"filter": [{"exists": {"field": BY}}], "must_not": [{"term": {SCHEMES: _FAILED}}]}
}


def _told(report: Report | None, before: int, total: int, done: int) -> None:
    if report is not None:
        report(min(before + done, total), total)


async def _annotated(
    connection: Connection,
    concrete: str,
    part: Sequence[Argument],
    annotator: Annotator,
    report: Callable[[int], None],
) -> None:
    """Annotate the calls of a block of which not all arguments are marked."""
    slug, step = _slug(annotator), annotator.per_call
    ids = [shape.whole(one.id) for one in part]
    sources = connection.ask(partial(_sources, index=concrete, ids=ids, fields=[BY]))
    marked = [(source or {}).get(BY) == slug for source in sources]
    lacking = [
        one
        for start in range(0, len(part), step)
        if not all(marked[start : start + step])
        for one in part[start : start + step]
    ]
    if lacking:
        found = await block([one.text for one in lacking], annotator, lambda _: None)
        send(connection, [
            ({"update": {"_index": concrete, "_id": shape.whole(argument.id)}},
             {"doc": _document(annotation, slug)})
            for argument, annotation in zip(lacking, found, strict=True)
        ])  # fmt: skip
    report(len(part))


def _document(found: Annotation | ModelError, slug: str) -> dict[str, Any]:
    """Return what is added to a document: a line that is not searched, and what is."""
    if isinstance(found, ModelError):
        return {BY: slug, SCHEMES: [_FAILED], MEMORY: json.dumps({_FAILED: type(found).__name__})}
    line = json.dumps(found.model_dump(mode="json"))
    return {BY: slug, SCHEMES: [one.value for one in found.schemes], MEMORY: line}


class ElasticMemory:
    """The memory of an index on a server."""

    def __init__(self, location: str, told: Mapping[str, Any]) -> None:
        """Remember where it is, and what the index says of it; nothing is asked yet."""
        self._connection = Connection(place(location))
        self._about = told

    @property
    def fingerprint(self) -> str:
        """What tells this memory from one by another annotator, or of more or fewer arguments."""
        about = json.dumps(self._about, sort_keys=True, default=str)
        return hashlib.sha256(about.encode()).hexdigest()[:16]

    def annotations(self, ids: Sequence[str]) -> list[Annotation | None]:
        """Return the annotation of each argument, or None where there is none."""
        lines = [(source or {}).get(MEMORY) for source in self._read(ids, MEMORY)]
        values = [json.loads(line) if line else {_FAILED: "unknown"} for line in lines]
        return [None if _FAILED in value else Annotation.model_validate(value) for value in values]

    def using(self, ids: Sequence[str]) -> list[bool | None]:
        """Return whether each argument uses any scheme, or None where that is not known."""
        named = [(source or {}).get(SCHEMES) for source in self._read(ids, SCHEMES)]
        return [None if one is None or _FAILED in one else bool(one) for one in named]

    def _read(self, ids: Sequence[str], field: str) -> list[Mapping[str, Any] | None]:
        sent = [name if may_be_id(name := shape.whole(one)) else "" for one in ids]
        asked = sorted({name for name in sent if name})
        found: dict[str, Mapping[str, Any] | None] = {}
        for start in range(0, len(asked), PAGE):
            part = asked[start : start + PAGE]
            index = self._connection.where.index
            answers = self._connection.ask(partial(_sources, index=index, ids=part, fields=[field]))
            found |= dict(zip(part, answers, strict=True))
        return [found.get(name) for name in sent]


def _sources(
    es: Any, index: str, ids: Sequence[str], fields: Sequence[str]
) -> list[Mapping[str, Any] | None]:
    found = es.mget(index=index, ids=list(ids), source_includes=list(fields))["docs"]
    return [one.get("_source") for one in found]


def _ours(location: str) -> ElasticArguments:
    index = ElasticArguments(location)
    if index.ours is None:
        raise UserError(f"{location} is not ours: nothing is written into it")
    return index


def _slug(annotator: Annotator) -> str:
    told = json.dumps(annotator.identity, sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _tell(connection: Connection, concrete: str, about: Mapping[str, Any]) -> None:
    tell(connection, concrete, lambda told: {**told, MEMORY: plain(about)})
