"""A dimension's way through the debate (the paper's algorithm 1), and how a panel joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import anyio

from judges.debatrix.calls import DebateVerdict, DimensionScore, JudgeCalls, View
from judges.debatrix.dimensions import DebateDimension
from judges.debatrix.speeches import PreparedDebate, SpeechEntry
from touche_rad.models import ModelError
from touche_rad.models.errors import PromptTooLong

Context = Literal["full", "half", "none", "direct"]


@dataclass
class ColumnResult:
    """The analyses and verdicts of one dimension."""

    dimension: DebateDimension
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


async def judge_column(
    calls: JudgeCalls,
    dimension: DebateDimension,
    debate: PreparedDebate,
    context: Context,
    *,
    decide: bool,
) -> ColumnResult:
    """Judge a debate in one dimension.

    The context of a speech is the analyses of earlier speeches (`full`), these speeches (`half`)
    or nothing (`none`). With `direct`, the whole debate is analysed and judged in one go.
    """
    result = ColumnResult(dimension)
    direct = context == "direct"
    # The paper queries its memories for relevant content but describes no query: all is used.
    context_memory: list[SpeechEntry] = []
    analysis_memory: list[SpeechEntry] = []

    async def judge_speech(place: int, speech: SpeechEntry, analysis: str) -> None:
        try:
            result.marks[place] = await calls.judge_speech(speech, analysis)
        except ModelError as error:
            result.reasons.append(f"speech {speech.number}: {error}")

    in_turn = () if direct else debate.speeches
    # Analyse speech after speech; if scores are calls of their own, they do not hold up the next.
    async with anyio.create_task_group() as group:
        for place, speech in enumerate(in_turn):
            past = {"full": analysis_memory, "half": context_memory}.get(context, [])
            try:
                analysis, mark = await calls.about_speech(
                    "analyse",
                    past=tuple(past),
                    new=speech,
                    raw=context == "half",
                    answers=any(earlier.code != speech.code for earlier in context_memory),
                )
            except ModelError as error:
                result.reasons.append(f"speech {speech.number}: {error}")
                if isinstance(error, PromptTooLong) and not calls.shortens:
                    result.overlong = True
                    break
                analysis = "(the analysis is missing)"
            else:
                result.analyses[place] = analysis
                if mark:
                    result.marks[place] = mark
                else:
                    group.start_soon(judge_speech, place, speech, analysis)
            context_memory.append(speech)
            analysis_memory.append(replace(speech, text=analysis))
    if result.overlong:
        return result
    if not direct and not result.analyses:
        result.reasons.append("no speech could be analysed")
        return result

    # Then the debate as a whole.
    try:
        result.analysis, result.verdict = await calls.about_debate(
            "debate",
            decide=decide or direct,
            past=debate.speeches if direct else analysis_memory,
            raw=direct,
        )
        if not result.verdict and (decide or direct):
            result.verdict = await calls.judge_debate(
                analysis=result.analysis, title="Your analysis of the debate in your dimension"
            )
    except ModelError as error:
        result.overlong = isinstance(error, PromptTooLong)
        result.reasons.append(f"the debate: {error}")
    return result


async def combine_by_summary(
    chair: JudgeCalls, results: Sequence[ColumnResult]
) -> tuple[str, DebateVerdict]:
    """Return the chair's analysis of all dimensions, and the verdict on it."""
    views = [_view(result, result.analysis) for result in results if result.analysis]
    try:
        analysis, verdict = await chair.about_debate("summary", views=views)
        return analysis, verdict or await chair.judge_debate(
            analysis=analysis, title="Your analysis of the debate across the dimensions"
        )
    except ModelError as error:
        return "", DebateVerdict(reason=f"the panel: {error}")


async def judge_speeches(
    chair: JudgeCalls, speeches: Sequence[SpeechEntry], results: Sequence[ColumnResult]
) -> dict[int, tuple[str, DimensionScore]]:
    """Return the panel's analysis and mark of each speech, by its place (section 3.3)."""

    async def judge(place: int, speech: SpeechEntry) -> tuple[str, DimensionScore]:
        analysed = [result for result in results if place in result.analyses]
        if not analysed:
            return "", DimensionScore(reason="no dimension analysed the speech")
        views = [_view(result, result.analyses[place]) for result in analysed]
        analysis, mark = await chair.about_speech("speech_summary", new=speech, views=views)
        return analysis, mark or await chair.judge_speech(speech, analysis)

    calls = [partial(judge, place, speech) for place, speech in enumerate(speeches)]
    answers = await chair.model.ask_all(calls)
    return {
        place: ("", DimensionScore(reason=str(answer)))
        if isinstance(answer, ModelError)
        else answer
        for place, answer in enumerate(answers)
    }


def _view(result: ColumnResult, text: str) -> View:
    return {"name": result.dimension.name, "weight": f"{result.dimension.weight:g}", "text": text}


async def combine_by_discussion(
    chair: JudgeCalls,
    judges: Mapping[str, JudgeCalls],
    results: Sequence[ColumnResult],
) -> tuple[str, DebateVerdict]:
    """Let the dimensions' judges speak in turn, and return what they said with the verdict."""
    statements: list[View] = []
    for result in results:
        if not result.analysis:
            continue
        try:
            text = await judges[result.dimension.name].discuss(result.analysis, statements)
        except ModelError:
            text = result.analysis
        statements.append(_view(result, text))
    analysis = "\n\n".join(
        f"{statement['name']} (weight {statement['weight']}): {statement['text']}"
        for statement in statements
    )
    try:
        return analysis, await chair.judge_debate(
            analysis=analysis, title="The statements of the panel's judges"
        )
    except ModelError as error:
        return analysis, DebateVerdict(reason=f"the panel: {error}")
