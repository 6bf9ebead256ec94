"""Annotations of retrieved arguments: from the index, or made now."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import anyio

from touche_rad.debaters.rdebater.retrieval import Record
from touche_rad.debaters.rdebater.schemes import SCHEMES, Annotation, SchemeAnnotator
from touche_rad.debaters.rdebater.turn import Allowance
from touche_rad.models import ModelError
from touche_rad.plugins import ArgumentIndex, annotations_of

CACHED: Final = 5_000
"""Maximum cached calls."""

_Key = tuple[str, ...]


class SchemeAnnotations:
    """Adds annotations to retrieved records."""

    def __init__(self, index: ArgumentIndex, annotator: SchemeAnnotator | None) -> None:
        """Without an annotator, only the annotations of the index are used."""
        self._stored = annotations_of(index).get(SCHEMES)
        self._annotator = annotator
        self._made: OrderedDict[_Key, list[Annotation | None]] = OrderedDict()

    def known(self, ids: Sequence[str]) -> list[Annotation | None]:
        """Return the annotations of arguments that the index contains."""
        if self._stored is None:
            return [None] * len(ids)
        return [
            None if one is None else Annotation.model_validate(one)
            for one in self._stored.get_all(ids)
        ]

    async def annotated(
        self, evidence: Sequence[Record], allowance: Allowance, debate: str, *, keep: int
    ) -> list[Record]:
        """Return the records with their annotations; without them if a call fails.

        Args:
            evidence: The records.
            allowance: The call budget of the turn.
            debate: The id of the debate; annotations of its earlier turns are reused.
            keep: Number of calls that must remain for later steps.
        """
        ids = [one.argument.id for one in evidence]
        known = await anyio.to_thread.run_sync(self.known, ids, abandon_on_cancel=True)
        missing = [place for place, one in enumerate(known) if one is None]
        if self._annotator is not None and missing:
            new = [evidence[place] for place in missing]
            made = await self._annotate(self._annotator, new, allowance, debate, keep)
            for place, annotation in zip(missing, made, strict=True):
                known[place] = annotation
        return [
            replace(one, annotation=annotation)
            for one, annotation in zip(evidence, known, strict=True)
        ]

    async def _annotate(
        self,
        annotator: SchemeAnnotator,
        evidence: Sequence[Record],
        allowance: Allowance,
        debate: str,
        keep: int,
    ) -> list[Annotation | None]:
        """Annotate records, several per call.

        Results are cached by debate and by the texts of a call, so that they do not depend on other
        debates, or on where a run was killed.
        """
        made: list[Annotation | None] = [None] * len(evidence)
        step, calls = annotator.per_call, 1 if annotator.options.calls == "merged" else 2

        async def some(start: int) -> None:
            part = evidence[start : start + step]
            key = (debate, *(one.argument.id for one in part))
            made[start : start + step] = await self._call(
                annotator, part, partial(allowance.take, calls, keep=keep), key
            )

        async with anyio.create_task_group() as group:
            for start in range(0, len(evidence), step):
                group.start_soon(some, start)
        return made

    async def _call(
        self,
        annotator: SchemeAnnotator,
        evidence: Sequence[Record],
        take: Callable[[], None],
        key: _Key,
    ) -> list[Annotation | None]:
        if key in self._made:
            self._made.move_to_end(key)
            return list(self._made[key])
        try:
            take()
        except ModelError:
            return [None] * len(evidence)
        answered = await annotator.annotate([one.argument.text for one in evidence])
        found = [None if isinstance(one, ModelError) else one for one in answered]
        if any(one is not None for one in found):
            self._made[key] = found
            while len(self._made) > CACHED:
                self._made.popitem(last=False)
        return list(found)
