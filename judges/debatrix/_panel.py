"""The panel `debatrix`: a column for each dimension, then the panel's verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import anyio
from pydantic import Field, field_validator

from judges.debatrix.calls import DebateVerdict, DimensionScore, JudgeCalls
from judges.debatrix.column import (
    Column,
    ColumnResult,
    Context,
    combine_by_discussion,
    combine_by_summary,
    combine_by_votes,
    judge_speeches,
)
from judges.debatrix.dimensions import AUTO, GENERAL, Dimension, dimensions, parse_dimensions
from judges.debatrix.speeches import PreparedDebate
from touche_rad.contest import TIE, Contest, Outcome, leader
from touche_rad.models import Model
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services, setting
from touche_rad.text import excerpt


class Debatrix:
    """Judges a whole debate speech by speech, in several dimensions, and as a panel of them."""

    needs: ClassVar = ("model",)

    class Options(PluginOptions):
        """The paper's variants, and the details of its calls as settings."""

        profile: str = Field("lean", description="paper: the calls as published")
        context: Context = Field(
            "full", description="earlier analyses (full), speeches (half), none, or direct"
        )
        columns: Literal["multi", "single"] = Field(
            "multi", description="one column per dimension, or one general column"
        )
        dimensions: str = Field(
            AUTO, description="columns as NAME or NAME=WEIGHT; auto: by the number of debaters"
        )
        combine: Literal["summary", "discussion", "none"] = Field(
            "summary", description="the panel's verdict; none: votes of the dimensions"
        )
        decision: Literal["winner", "score"] = Field(
            "winner", description="the winner is asked for, or follows from the scores"
        )
        tie_margin: int | None = Field(
            None, ge=0, le=9, description="largest tied difference [default: by dimension, 0 or 3]"
        )
        ties: Literal["auto", "yes", "no"] = Field(
            "auto", description="whether ties are allowed; auto: with two debaters"
        )
        separate: bool = setting(
            False, description="a comment and its score or winner are asked for in two calls"
        )
        own_verdicts: bool = setting(
            True, description="each dimension gives its own verdict besides the panel's"
        )
        speech_verdicts: bool = setting(
            False, description="the panel judges each speech too, from the columns' analyses"
        )
        rounds: int = setting(1, ge=1, le=5, description="statements per judge in a discussion")
        chunk_words: int = setting(
            1_500, ge=0, description="words in a part of a long speech; 0: speeches stay whole"
        )
        overlong: Literal["shorten", "incomplete"] = setting(
            "shorten", description="a prompt too long for the model: drop oldest, or no verdict"
        )

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
        debate = PreparedDebate(contest, self.options.chunk_words)
        if not debate.speeches:
            return Outcome(winner=None, reason="the debate has no speech")
        columns = self._columns(debate)
        judges = {one.dimension.name: one.calls for one in columns}
        results = await self._judge_columns(debate, columns)
        if self.options.overlong == "incomplete" and any(one.overlong for one in results):
            reason = next(reason for one in results if one.overlong for reason in one.reasons)
            return self._outcome(debate, results, "", DebateVerdict(reason=reason))
        speeches: dict[int, tuple[str, DimensionScore]] = {}

        async def judge_each() -> None:
            chair = self._calls(debate, None)
            speeches.update(await judge_speeches(chair, debate.speeches, results))

        async with anyio.create_task_group() as group:
            if self.options.speech_verdicts and len(results) > 1:
                group.start_soon(judge_each)
            text, verdict = await self._combine(debate, judges, results)
        return self._outcome(debate, results, text, verdict, speeches)

    def _columns(self, debate: PreparedDebate) -> list[Column]:
        selected = parse_dimensions(self.options.dimensions, teams=debate.teams)
        if self.options.columns == "single":
            selected = (dimensions()[GENERAL],)
        return [Column(one, self._calls(debate, one), self.options.context) for one in selected]

    async def _judge_columns(
        self, debate: PreparedDebate, columns: Sequence[Column]
    ) -> list[ColumnResult]:
        results: dict[str, ColumnResult] = {}
        decide = self.options.own_verdicts or len(columns) == 1 or self.options.combine == "none"

        async def run(column: Column) -> None:
            results[column.dimension.name] = await column.judge(debate, decide=decide)

        async with anyio.create_task_group() as group:
            for column in columns:
                group.start_soon(run, column)
        return [results[column.dimension.name] for column in columns]

    async def _combine(
        self,
        debate: PreparedDebate,
        judges: Mapping[str, JudgeCalls],
        results: Sequence[ColumnResult],
    ) -> tuple[str, DebateVerdict]:
        if len(results) == 1:
            return "", results[0].verdict or DebateVerdict(reason="; ".join(results[0].reasons))
        chair = self._calls(debate, None)
        if self.options.combine == "none":
            return "", combine_by_votes(results, chair.codes, ties=chair.ties)
        if not any(one.analysis for one in results):
            reasons = "; ".join(reason for one in results for reason in one.reasons[:1])
            return "", DebateVerdict(reason=reasons or "no dimension analysed the debate")
        if self.options.combine == "discussion":
            return await combine_by_discussion(chair, judges, results, self.options.rounds)
        return await combine_by_summary(chair, results)

    def _calls(self, debate: PreparedDebate, dimension: Dimension | None) -> JudgeCalls:
        return JudgeCalls(
            self.model,
            debate.header(dimension),
            debate.codes,
            dimension=dimension,
            ties=self._ties(debate),
            separate=self.options.separate,
            shortens=self.options.overlong == "shorten",
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
        verdicts = {one.dimension.name: one.verdict for one in results if one.verdict is not None}
        margins = {one.dimension.name: one.dimension.tie_margin for one in results}
        verdicts[GENERAL] = verdict
        scores: dict[str, dict[str, float | None]] = {name: {} for name in debate.contest.sides}
        by_verdict: dict[str, str | None] = {}
        by_score: dict[str, str | None] = {}
        for name, one in verdicts.items():
            marks = {
                speaker: one.marks[code].score if code in one.marks else None
                for code, speaker in debate.speaker_of.items()
            }
            for speaker, score in marks.items():
                scores[speaker][name] = score
            margin = self.options.tie_margin
            margin = margins.get(name, 0) if margin is None else margin
            undecided = one.winner in (None, TIE)
            by_verdict[name] = one.winner if undecided else debate.speaker_of[str(one.winner)]
            best = leader(marks, margin)
            by_score[name] = None if best == TIE and not self._ties(debate) else best
        winners = by_verdict if self.options.decision == "winner" else by_score
        reasons = [reason for one in results for reason in one.reasons]
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
                "debate": {one.dimension.name: one.analysis for one in results},
                "comments": {
                    speaker: {
                        name: one.marks[code].comment
                        for name, one in verdicts.items()
                        if code in one.marks
                    }
                    for code, speaker in debate.speaker_of.items()
                },
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
    for place, entry in enumerate(debate.speeches):
        views: dict[str, tuple[str, DimensionScore | None]] = {
            one.dimension.name: (one.analyses.get(place, ""), one.marks.get(place))
            for one in results
        }
        if place in speeches:
            views[GENERAL] = speeches[place]
        part = {"part": entry.part, "parts": entry.parts} if entry.parts > 1 else {}
        rows += [
            {
                "speech": entry.number,
                "speaker": debate.speaker_of[entry.code],
                "dimension": name,
                "analysis": analysis,
                "comment": mark.comment if mark else "",
                "score": mark.score if mark else None,
                **part,
            }
            for name, (analysis, mark) in views.items()
        ]
    return rows
