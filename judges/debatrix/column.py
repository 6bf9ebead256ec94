"""A chronological column: one dimension's way through the debate (the paper's algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal

import anyio

from judges.debatrix.calls import DebateVerdict, DimensionScore, JudgeCalls
from judges.debatrix.dimensions import Dimension
from judges.debatrix.speeches import Entry, PreparedDebate
from touche_rad.models import ModelError
from touche_rad.models.errors import PromptTooLong

Context = Literal["full", "half", "none", "direct"]
MISSING: Final = "(the analysis is missing)"


@dataclass
class ColumnResult:
    """The analyses and verdicts of one dimension."""

    dimension: Dimension
    marks: dict[int, DimensionScore] = field(default_factory=dict)
    """By the place of the speech."""
    analyses: dict[int, str] = field(default_factory=dict)
    """By the place of the speech."""
    analysis: str = ""
    """Of the whole debate."""
    verdict: DebateVerdict | None = None
    reasons: list[str] = field(default_factory=list)
    """Why something is missing."""
    overlong: bool = False
    """Whether the column stopped because a prompt was too long for the model."""


@dataclass(frozen=True)
class Column:
    """Judges a debate in one dimension.

    The context of a speech is the analyses of earlier speeches (`full`), these speeches (`half`)
    or nothing (`none`). With `direct`, the whole debate is analysed and judged in
    one go.
    """

    dimension: Dimension
    calls: JudgeCalls
    context: Context

    async def judge(self, debate: PreparedDebate, *, decide: bool = True) -> ColumnResult:
        """Judge the debate."""
        result = ColumnResult(self.dimension)
        direct = self.context == "direct"
        past = debate.speeches if direct else await self.analyse_speeches(debate, result)
        if result.overlong:
            return result
        if not direct and not result.analyses:
            result.reasons.append("no speech could be analysed")
            return result
        try:
            result.analysis, result.verdict = await self.calls.analyse_debate(
                past, raw=direct, decide=decide or direct
            )
            if result.verdict is None and (decide or direct):
                result.verdict = await self.calls.judge_debate(
                    analysis=result.analysis, title="Your analysis of the debate in your dimension"
                )
            if direct and result.verdict and result.verdict.comment:
                result.analysis += f"\n\nOn the winner: {result.verdict.comment}"
        except ModelError as error:
            result.overlong = isinstance(error, PromptTooLong)
            result.reasons.append(f"the debate: {error}")
        return result

    async def analyse_speeches(self, debate: PreparedDebate, result: ColumnResult) -> list[Entry]:
        """Analyse and judge speech after speech; return the analysis memory.

        The paper queries its memories for relevant content but describes no query: all is used.
        """
        context_memory: list[Entry] = []
        analysis_memory: list[Entry] = []
        async with anyio.create_task_group() as group:
            for place, new in enumerate(debate.speeches):
                past = {"full": analysis_memory, "half": context_memory}.get(self.context, [])
                try:
                    text, mark = await self.calls.analyse_speech(
                        tuple(past),
                        new,
                        raw=self.context == "half",
                        answers=any(one.code != new.code for one in context_memory),
                    )
                except ModelError as error:
                    result.reasons.append(f"speech {new.number}: {error}")
                    if isinstance(error, PromptTooLong) and not self.calls.shortens:
                        result.overlong = True
                        break
                    text, mark = MISSING, None
                else:
                    result.analyses[place] = text
                    if mark is not None:
                        result.marks[place] = mark
                    else:
                        group.start_soon(self._judge_speech, result, place, new, text)
                context_memory.append(new)
                analysis_memory.append(replace(new, text=text))
        return analysis_memory

    async def _judge_speech(
        self, result: ColumnResult, place: int, new: Entry, analysis: str
    ) -> None:
        try:
            result.marks[place] = await self.calls.judge_speech(new, analysis)
        except ModelError as error:
            result.reasons.append(f"speech {new.number}: {error}")
