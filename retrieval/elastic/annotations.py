"""Annotations on Elasticsearch: in the documents of an index that touche-rad made.

Annotated documents have the field `annotated_NAME`. The index says when all documents are
annotated; a run that was killed before is resumed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval.elastic.loading import describe, send, settle
from retrieval.index.annotations import CALLS, check_annotator, plain
from touche_rad.errors import UserError
from touche_rad.plugins import Annotator
from touche_rad.plugins.contracts import Progress

if TYPE_CHECKING:
    from retrieval.elastic.arguments import ElasticArguments

ANNOTATIONS: Final = "annotations"
VALID: Final = "annotated_{}"
"""The field that says whether the model had a valid annotation."""
TEXT: Final = "annotation_{}"
"""The field of the annotation as JSON; not searchable."""


async def annotate(index: ElasticArguments, annotator: Annotator, report: Progress | None) -> int:
    """Annotate the arguments of an index and return how many have an annotation.

    Returns 0 if the same annotator annotated them before.
    """
    if index.ours is None:
        raise UserError(f"{index.location} was not made by touche-rad: it cannot be annotated")
    about = (index.ours.get(ANNOTATIONS) or {}).get(annotator.name)
    if about:
        check_annotator(about["by"], annotator, "build the index again with --replace")
        if about.get("complete"):
            return 0
    ask, concrete, size = index.connection.ask, index.concrete, CALLS * annotator.per_call
    valid, text = VALID.format(annotator.name), TEXT.format(annotator.name)
    ask(lambda es: es.indices.put_mapping(index=concrete, properties={valid: {"type": "boolean"}}))
    by = plain(annotator)
    entry = {annotator.name: {"by": by, "complete": False}}
    describe(index.connection, concrete, **{ANNOTATIONS: entry})
    ask(lambda es: es.indices.refresh(index=concrete))  # show what a killed run annotated
    done = 0
    for page in index.pages(valid):
        for start in range(0, len(page), size):
            block = page[start : start + size]
            if not all(valid in source for _, source in block):
                annotations = await annotator.annotate_all(
                    [one.text for one, _ in block], lambda _: None
                )
                send(
                    index.connection,
                    [
                        index.update(argument.id, {valid: one is not None, text: json.dumps(one)})
                        for (argument, _), one in zip(block, annotations, strict=True)
                    ],
                )
            done += len(block)
            if report is not None:
                report(done, len(index))
    settle(index.connection, concrete)
    query = {"term": {valid: True}}
    count = int(ask(lambda es: es.count(index=concrete, query=query))["count"])
    entry = {annotator.name: {"by": by, "complete": True, "annotated": count}}
    describe(index.connection, concrete, **{ANNOTATIONS: entry})
    return count


class ElasticAnnotations:
    """The annotations of one name of an index on a server."""

    def __init__(self, index: ElasticArguments, name: str, about: Mapping[str, Any]) -> None:
        self._index = index
        self._field = TEXT.format(name)
        self._about = about

    @property
    def fingerprint(self) -> str:
        """A digest of the annotator and the number of annotations."""
        about = json.dumps(self._about, sort_keys=True, default=str)
        return hashlib.sha256(about.encode()).hexdigest()[:16]

    def get_all(self, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """Return the annotation of each argument, or None if there is none."""
        sources = self._index.sources(ids, self._field)
        return [json.loads((source or {}).get(self._field) or "null") for source in sources]
