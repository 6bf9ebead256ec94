"""Annotations on Elasticsearch: in the documents of an index that touche-rad made.

Annotated documents have the field `annotated_NAME`. The index says when all documents are
annotated; a run that was killed before is resumed.
"""

from __future__ import annotations

import json

from retrieval.elastic._arguments import ANNOTATION, ANNOTATIONS, ElasticArguments
from retrieval.elastic._loading import describe, send, settle
from retrieval.index.annotations import CALLS, check_annotator, plain
from touche_rad.errors import UserError
from touche_rad.plugins import Annotator
from touche_rad.plugins.contracts import Progress


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
    valid, text = f"annotated_{annotator.name}", ANNOTATION.format(annotator.name)
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
