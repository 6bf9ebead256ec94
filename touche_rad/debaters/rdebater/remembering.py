"""What the memory knows of the retrieved arguments; what it does not know is annotated now."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import anyio

from touche_rad.debaters.rdebater.budget import Allowance
from touche_rad.debaters.rdebater.recall import Remembered
from touche_rad.debaters.rdebater.schemes import Annotation, Annotator
from touche_rad.models import ModelError
from touche_rad.plugins import ArgumentIndex, Memory, RemembersIndex

KEPT: Final = 5_000
"""Annotations made in passing that are kept."""

_Key = tuple[str, ...]


class Remembering:
    """Gives retrieved records their annotations."""

    def __init__(self, index: ArgumentIndex, annotator: Annotator | None) -> None:
        """Without an annotator only what the memory holds is known."""
        self._index = index
        self._annotator = annotator
        self._made: OrderedDict[_Key, list[Annotation | None]] = OrderedDict()
        self.known(())  # a memory that cannot be read is told now and not in a debate

    def known(self, ids: Sequence[str]) -> list[Annotation | None]:
        """Return what the index's memory holds of these arguments."""
        memory = self._memory
        return memory.annotations(ids) if memory is not None else [None] * len(ids)

    def using(self, ids: Sequence[str]) -> list[bool | None]:
        """Return whether each is known to use any scheme."""
        memory = self._memory
        return memory.using(ids) if memory is not None else [None] * len(ids)

    @property
    def _memory(self) -> Memory | None:
        return self._index.memory if isinstance(self._index, RemembersIndex) else None

    async def annotated(
        self, evidence: Sequence[Remembered], allowance: Allowance, debate: str
    ) -> list[Remembered]:
        """Return the records with their annotations; a call that fails leaves them without.

        Args:
            evidence: The records.
            allowance: What may still be asked in this turn.
            debate: Whose turn it is; what an earlier turn of it annotated is not asked again.
        """
        ids = [one.argument.id for one in evidence]
        known = await anyio.to_thread.run_sync(self.known, ids, abandon_on_cancel=True)
        missing = [place for place, one in enumerate(known) if one is None]
        if self._annotator is not None and missing:
            asked = [evidence[place] for place in missing]
            made = await self._asked(self._annotator, asked, allowance, debate)
            for place, annotation in zip(missing, made, strict=True):
                known[place] = annotation
        return [
            replace(one, annotation=annotation)
            for one, annotation in zip(evidence, known, strict=True)
        ]

    async def _asked(
        self,
        annotator: Annotator,
        evidence: Sequence[Remembered],
        allowance: Allowance,
        debate: str,
    ) -> list[Annotation | None]:
        """Ask for as many at once as a call is about.

        What is kept is kept by the debate and by what was asked together, so that neither an
        answer nor what is left to ask depends on which debates came before, or on a kill.
        """
        made: list[Annotation | None] = [None] * len(evidence)
        step, calls = annotator.per_call, 1 if annotator.profile == "lean" else 2

        async def some(start: int) -> None:
            part = evidence[start : start + step]
            key = (debate, *(one.argument.id for one in part))
            made[start : start + step] = await self._call(annotator, part, allowance, calls, key)

        async with anyio.create_task_group() as group:
            for start in range(0, len(evidence), step):
                group.start_soon(some, start)
        return made

    async def _call(
        self,
        annotator: Annotator,
        evidence: Sequence[Remembered],
        allowance: Allowance,
        calls: int,
        key: _Key,
    ) -> list[Annotation | None]:
        if key in self._made:
            self._made.move_to_end(key)
            return list(self._made[key])
        try:
            allowance.take(calls, keep=1)
        except ModelError:
            return [None] * len(evidence)
        answered = await annotator.annotate([one.argument.text for one in evidence])
        found = [None if isinstance(one, ModelError) else one for one in answered]
        if any(one is not None for one in found):
            self._made[key] = found
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
        return list(found)
