"""The panel `debatrix`: a column for each dimension, then the panel's verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import anyio
from pydantic import Field, NonNegativeInt, field_validator

from judges.debatrix.calls import DebateVerdict, DimensionScore, JudgeCalls
from judges.debatrix.column import (
    ColumnResult,
    Context,
    combine_by_discussion,
    combine_by_summary,
    judge_column,
    judge_speeches,
)
from judges.debatrix.dimensions import AUTO, GENERAL, DebateDimension, dimensions, parse_dimensions
from judges.debatrix.speeches import PreparedDebate
from touche_rad.contest import INCOMPLETE, TIE, Contest, Outcome, leader
from touche_rad.models import Model
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services, Setting
from touche_rad.text import excerpt


class Debatrix:
    """Judges a whole debate speech by speech, in several dimensions, and as a panel of them."""

    needs: ClassVar = ("model",)

    class Options(PluginOptions):
        """The paper's variants, and the details of its calls as settings."""

        profile: str = "lean"
        """paper: the calls as published"""
        context: Context = "full"
        """earlier analyses (full), speeches (half), none, or direct"""
        columns: Literal["multi", "single"] = "multi"
        """one column per dimension, or one general column"""
        dimensions: str = AUTO
        """columns as NAME or NAME=WEIGHT; auto: by the number of debaters"""
        combine: Literal["summary", "discussion"] = "summary"
        """how the dimensions' judges reach the panel's verdict"""
        decision: Literal["winner", "score"] = "winner"
        """the winner is asked for, or follows from the scores"""
        tie_margin: Annotated[int | None, Field(ge=0, le=9)] = None
        """largest tied difference [default: by dimension, 0 or 3]"""
        ties: Literal["auto", "yes", "no"] = "auto"
        """whether ties are allowed; auto: with two debaters"""
        separate: Setting[bool] = False
        """a comment and its score or winner are asked for in two calls"""
        own_verdicts: Setting[bool] = True
        """each dimension gives its own verdict besides the panel's"""
        speech_verdicts: Setting[bool] = False
        """the panel judges each speech too, from the columns' analyses"""
        chunk_words: Setting[NonNegativeInt] = 1_500
        """words in a part of a long speech; 0: speeches stay whole"""
        max_analysis: Setting[NonNegativeInt] = 2_000
        """characters of an analysis or a comment; 0: no limit"""
        max_info: Setting[NonNegativeInt] = 4_000
        """characters of the background; 0: all"""
        tie_rules: Setting[bool] = True
        """source and language say when a debate is a tie"""
        overlong: Setting[Literal["shorten", "incomplete"]] = "shorten"
        """a prompt too long for the model: drop oldest, or no verdict"""

        @field_validator("dimensions")
        @classmethod
        def _are_known(cls, text: str) -> str:
            parse_dimensions(text)
            return text

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.model: Model = services.need_model("panel debatrix")

    async def judge(self, contest: Contest) -> Outcome:
        """Judge the debate; failed calls are left out, and the reason names them."""
        debate = PreparedDebate(contest, self.options.chunk_words, self.options.max_info)
        if not debate.speeches:
            return Outcome(winner=None, reason="the debate has no speech")

        # Each dimension judges the debate in its own column.
        selected = parse_dimensions(self.options.dimensions, teams=debate.teams)
        if self.options.columns == "single":
            selected = [dimensions()[GENERAL]]
        judges = {dimension.name: self._calls(debate, dimension) for dimension in selected}
        decide = self.options.own_verdicts or len(selected) == 1
        columns = (
            judge_column(
                judges[dimension.name], dimension, debate, self.options.context, decide=decide
            )
            for dimension in selected
        )
        results = await asyncio.gather(*columns)
        if self.options.overlong == "incomplete":
            for result in results:
                if result.overlong:
                    verdict = DebateVerdict(reason=result.reasons[0])
                    outcome = self._outcome(debate, results, "", verdict)
                    details = {**outcome.details, INCOMPLETE: True}
                    return outcome.replace(details=details)
        if len(results) == 1:
            (result,) = results
            verdict = result.verdict or DebateVerdict(reason="; ".join(result.reasons))
            return self._outcome(debate, results, "", verdict)

        # The chair joins the columns, for the debate and, if wanted, for each speech.
        chair = self._calls(debate, None)
        speeches: dict[int, tuple[str, DimensionScore]] = {}

        async def judge_each() -> None:
            speeches.update(await judge_speeches(chair, debate.speeches, results))

        async with anyio.create_task_group() as group:
            if self.options.speech_verdicts:
                group.start_soon(judge_each)
            text, verdict = await self._combine(chair, judges, results)
        return self._outcome(debate, results, text, verdict, speeches)

    async def _combine(
        self,
        chair: JudgeCalls,
        judges: Mapping[str, JudgeCalls],
        results: Sequence[ColumnResult],
    ) -> tuple[str, DebateVerdict]:
        """Return the panel's analysis or discussion, and its verdict."""
        if not any(result.analysis for result in results):
            reasons = [result.reasons[0] for result in results if result.reasons]
            reason = "; ".join(reasons) or "no dimension analysed the debate"
            return "", DebateVerdict(reason=reason)
        if self.options.combine == "discussion":
            return await combine_by_discussion(chair, judges, results)
        return await combine_by_summary(chair, results)

    def _calls(self, debate: PreparedDebate, dimension: DebateDimension | None) -> JudgeCalls:
        return JudgeCalls(
            self.model,
            debate.header(dimension),
            tuple(debate.speaker_of),
            dimension=dimension,
            ties=self._ties(debate),
            separate=self.options.separate,
            shortens=self.options.overlong == "shorten",
            most=self.options.max_analysis,
            tie_rules=self.options.tie_rules,
        )

    def _ties(self, debate: PreparedDebate) -> bool:
        return {"yes": True, "no": False, "auto": not debate.teams}[self.options.ties]

    def _outcome(
        self,
        debate: PreparedDebate,
        results: Sequence[ColumnResult],
        text: str,
        verdict: DebateVerdict,
        speeches: Mapping[int, tuple[str, DimensionScore]] | None = None,
    ) -> Outcome:
        verdicts = {result.dimension.name: result.verdict for result in results if result.verdict}
        margins = {result.dimension.name: result.dimension.tie_margin for result in results}
        verdicts[GENERAL] = verdict
        scores: dict[str, dict[str, float | None]] = {name: {} for name in debate.contest.sides}
        comments: dict[str, dict[str, str]] = {name: {} for name in debate.contest.sides}
        by_verdict: dict[str, str | None] = {}
        by_score: dict[str, str | None] = {}
        for name, in_dimension in verdicts.items():
            marks: dict[str, float | None] = {}
            for code, speaker in debate.speaker_of.items():
                marks[speaker] = None
                if code in in_dimension.marks:
                    marks[speaker] = in_dimension.marks[code].score
                    comments[speaker][name] = in_dimension.marks[code].comment
                scores[speaker][name] = marks[speaker]
            by_verdict[name] = debate.speaker_of.get(str(in_dimension.winner), in_dimension.winner)
            margin = self.options.tie_margin
            best = leader(marks, margins.get(name, 0) if margin is None else margin)
            by_score[name] = None if best == TIE and not self._ties(debate) else best
        winners = by_verdict if self.options.decision == "winner" else by_score
        reasons = [reason for result in results for reason in result.reasons]
        reasons += [verdict.reason] if verdict.reason else []
        return Outcome(
            winner=winners[GENERAL],
            scores=scores,
            winners=winners,
            comment=verdict.comment,
            reason=excerpt("; ".join(dict.fromkeys(reasons)), 500),
            details={
                "by_verdict": by_verdict,
                "by_score": by_score,
                "timeline": _timeline(debate, results, speeches or {}),
                "debate": {result.dimension.name: result.analysis for result in results},
                "comments": comments,
                "panel": text,
            },
        )


def _timeline(
    debate: PreparedDebate,
    results: Sequence[ColumnResult],
    speeches: Mapping[int, tuple[str, DimensionScore]],
) -> list[dict[str, Any]]:
    """Return each dimension's analysis, comment and score of every speech, and the panel's."""
    rows = []
    for place, speech in enumerate(debate.speeches):
        views: dict[str, tuple[str, DimensionScore]] = {}
        for result in results:
            analysis = result.analyses.get(place, "")
            views[result.dimension.name] = analysis, result.marks.get(place, DimensionScore())
        if place in speeches:
            views[GENERAL] = speeches[place]
        part = {"part": speech.part, "parts": speech.parts} if speech.parts > 1 else {}
        rows += [
            {
                "speech": speech.number,
                "speaker": debate.speaker_of[speech.code],
                "dimension": name,
                "analysis": analysis,
                "comment": mark.comment,
                "score": mark.score,
                **part,
            }
            for name, (analysis, mark) in views.items()
        ]
    return rows
