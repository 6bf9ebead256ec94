"""A chronological column: one dimension's way through the debate (the paper's Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import anyio

from judges.debatrix.dimensions import Dimension
from judges.debatrix.questions import Mark, Questions, Ruling
from judges.debatrix.speeches import Case, Entry, Memory
from touche_rad.models import ModelError
from touche_rad.models.errors import PromptTooLong

Context = Literal["full", "half", "none", "direct"]
MISSING = "(no analysis could be had)"


@dataclass
class Found:
    """What a column has found."""

    dimension: Dimension
    marks: dict[int, Mark] = field(default_factory=dict)
    """By the place of the speech."""
    analyses: dict[int, str] = field(default_factory=dict)
    analysis: str = ""
    """Of the whole debate."""
    ruling: Ruling | None = None
    reasons: list[str] = field(default_factory=list)
    overlong: bool = False
    """Whether it gave up at what does not fit the model."""


@dataclass(frozen=True)
class Column:
    """One judge's dimension, and what it looks back on while it listens.

    `full` looks back on its own analyses, `half` on the speeches, `none` on nothing; `direct` does
    not listen at all: it judges by the whole debate at once.
    """

    dimension: Dimension
    questions: Questions
    context: Context

    async def judge(self, case: Case, *, rules: bool = True) -> Found:
        """Go through the debate.

        Args:
            case: The debate.
            rules: Whether the column gives a verdict of its own besides its analysis.
        """
        found = Found(self.dimension)
        if self.context == "direct":
            await self._directly(case, found)
            return found
        memory = await self.listen(case, found)
        if found.overlong:
            return found
        if len(found.analyses) == 0:
            found.reasons.append("no speech could be analysed")
            return found
        try:
            found.analysis, found.ruling = await self.questions.debate(memory.fetch(), rules=rules)
            if found.ruling is None and rules:
                found.ruling = await self.questions.ruling(found.analysis)
        except ModelError as error:
            found.overlong = isinstance(error, PromptTooLong)
            found.reasons.append(f"the debate: {error}")
        return found

    async def listen(self, case: Case, found: Found) -> Memory:
        """Speech after speech: what to look back on is fetched before the new one is added."""
        context, analyses = Memory(), Memory()
        async with anyio.create_task_group() as group:
            for place, new in enumerate(case.speeches):
                past = self._past(context, analyses)
                context.add(new)
                try:
                    text, mark = await self.questions.analysis(
                        past, new, raw=self.context == "half"
                    )
                except ModelError as error:
                    found.reasons.append(f"speech {new.number}: {error}")
                    if isinstance(error, PromptTooLong) and not self.questions.shortens:
                        found.overlong = True
                        break
                    analyses.add(Entry(new.number, new.code, MISSING))
                    continue
                found.analyses[place] = text
                analyses.add(Entry(new.number, new.code, text))
                if mark is not None:
                    found.marks[place] = mark
                else:
                    group.start_soon(self._mark, found, place, new, text)
        return analyses

    def _past(self, context: Memory, analyses: Memory) -> tuple[Entry, ...]:
        if self.context == "none":
            return ()
        return (context if self.context == "half" else analyses).fetch()

    async def _mark(self, found: Found, place: int, new: Entry, text: str) -> None:
        try:
            found.marks[place] = await self.questions.speech(new, text)
        except ModelError as error:
            found.reasons.append(f"speech {new.number}: {error}")

    async def _directly(self, case: Case, found: Found) -> None:
        try:
            found.ruling = await self.questions.direct(case.speeches)
        except ModelError as error:
            found.overlong = isinstance(error, PromptTooLong)
            found.reasons.append(f"the debate: {error}")
            return
        found.analysis = "\n".join(
            f"{code}: {mark.comment}" for code, mark in found.ruling.marks.items() if mark.comment
        )
