"""Annotations of retrieved arguments: from the index, or made now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import anyio

from touche_rad.debaters.rdebater.retrieval import Record
from touche_rad.debaters.rdebater.schemes import SCHEMES, Annotation, SchemeAnnotator
from touche_rad.debaters.rdebater.turn import Allowance
from touche_rad.models import ModelError
from touche_rad.plugins import ArgumentIndex, annotations_of

CACHED: Final = 5_000
"""Maximum cached calls."""


class SchemeAnnotations:
    """Adds annotations to retrieved records."""

    def __init__(self, index: ArgumentIndex, annotator: SchemeAnnotator | None) -> None:
        """Without an annotator, only the annotations of the index are used."""
        self._stored = annotations_of(index).get(SCHEMES)
        self._annotator = annotator
        # By debate and by the arguments of a call, so that the results of a debate do not depend
        # on other debates, or on where a run was killed.
        self._made: dict[tuple[str, ...], list[Annotation | None]] = {}

    def stored(self, ids: Sequence[str]) -> list[Annotation | None]:
        """Return the annotations of arguments that the index contains."""
        if self._stored is None:
            return [None] * len(ids)
        return [
            None if one is None else Annotation.model_validate(one)
            for one in self._stored.get_all(ids)
        ]

    async def add_to(
        self, evidence: Sequence[Record], allowance: Allowance, debate: str, *, keep: int
    ) -> list[Record]:
        """Return the records with their annotations; without them if a call fails.

        Annotations of earlier turns of a debate are used again. Of the turn's calls, `keep` must
        remain for later steps.
        """
        ids = [one.argument.id for one in evidence]
        stored = await anyio.to_thread.run_sync(self.stored, ids, abandon_on_cancel=True)
        records = [
            replace(one, annotation=annotation)
            for one, annotation in zip(evidence, stored, strict=True)
        ]
        missing = [place for place, one in enumerate(stored) if one is None]
        if self._annotator is None:
            return records
        annotator, step = self._annotator, self._annotator.per_call

        async def annotate(places: Sequence[int]) -> None:
            part = [records[place] for place in places]
            annotations = await self._annotate(annotator, part, allowance, debate, keep)
            for place, one, annotation in zip(places, part, annotations, strict=True):
                records[place] = replace(one, annotation=annotation)

        async with anyio.create_task_group() as group:
            for start in range(0, len(missing), step):
                group.start_soon(annotate, missing[start : start + step])
        return records

    async def _annotate(
        self,
        annotator: SchemeAnnotator,
        evidence: Sequence[Record],
        allowance: Allowance,
        debate: str,
        keep: int,
    ) -> list[Annotation | None]:
        """Annotate the records of one call."""
        key = (debate, *(one.argument.id for one in evidence))
        if key in self._made:
            return self._made[key]
        try:
            allowance.take(1 if annotator.options.calls == "merged" else 2, keep=keep)
        except ModelError:
            return [None] * len(evidence)
        answers = await annotator.annotate([one.argument.text for one in evidence])
        annotations = [None if isinstance(one, ModelError) else one for one in answers]
        if any(annotations):
            self._made[key] = annotations
            if len(self._made) > CACHED:
                del self._made[next(iter(self._made))]
        return annotations
