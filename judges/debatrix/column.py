"""A dimension's way through the debate (the paper's algorithm 1), and how a panel joins them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Literal

import anyio

from judges.debatrix.calls import DebateVerdict, DimensionScore, JudgeCalls, View
from judges.debatrix.dimensions import Dimension
from judges.debatrix.speeches import Entry, PreparedDebate
from touche_rad.contest import TIE
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


def by_votes(
    winners: Mapping[str, str | None], weights: Mapping[str, float], *, ties: bool = True
) -> str | None:
    """Return the winner of the dimensions with the most weight; a tied dimension has no vote."""
    votes: dict[str, float] = {}
    for dimension, winner in winners.items():
        if winner is not None and winner != TIE:
            votes[winner] = votes.get(winner, 0.0) + weights[dimension]
    if not any(winner is not None for winner in winners.values()):
        return None
    best = max(votes.values(), default=0.0)
    leading = [name for name, vote in votes.items() if math.isclose(vote, best)]
    if len(leading) == 1:
        return leading[0]
    return TIE if ties else None


def weighted(scores: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """Return the weighted mean of one debater's scores, without missing ones."""
    known = {dimension: score for dimension, score in scores.items() if score is not None}
    whole = sum(weights[dimension] for dimension in known)
    if not whole:
        return None
    return sum(weights[dimension] * score for dimension, score in known.items()) / whole


async def combine_by_summary(
    chair: JudgeCalls, results: Sequence[ColumnResult]
) -> tuple[str, DebateVerdict]:
    """Return the chair's analysis of all dimensions, and the verdict on it."""
    views = [_view(one, one.analysis) for one in results if one.analysis]
    try:
        analysis, verdict = await chair.summarise(views)
        return analysis, verdict or await chair.judge_debate(
            analysis=analysis, title="Your analysis of the debate across the dimensions"
        )
    except ModelError as error:
        return "", DebateVerdict(reason=f"the panel: {error}")


async def judge_speeches(
    chair: JudgeCalls, speeches: Sequence[Entry], results: Sequence[ColumnResult]
) -> dict[int, tuple[str, DimensionScore]]:
    """Return the panel's analysis and mark of each speech, by its place (section 3.3)."""

    async def one(place: int, new: Entry) -> tuple[str, DimensionScore]:
        views = [_view(one, one.analyses[place]) for one in results if place in one.analyses]
        if not views:
            return "", DimensionScore(reason="no dimension analysed the speech")
        analysis, mark = await chair.summarise_speech(new, views)
        return analysis, mark or await chair.judge_speech(new, analysis)

    calls = [partial(one, place, new) for place, new in enumerate(speeches)]
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
    rounds: int,
) -> tuple[str, DebateVerdict]:
    """Let the dimensions' judges speak in turn, and return what they said with the verdict."""
    statements: list[View] = []
    for one in [one for one in results if one.analysis] * rounds:
        name = one.dimension.name
        try:
            text = await judges[name].discuss(one.analysis, statements)
        except ModelError:
            text = one.analysis
        statements.append(_view(one, text))
    analysis = "\n\n".join(
        f"{one['name']} (weight {one['weight']}): {one['text']}" for one in statements
    )
    try:
        return analysis, await chair.judge_debate(
            analysis=analysis, title="The statements of the panel's judges"
        )
    except ModelError as error:
        return analysis, DebateVerdict(reason=f"the panel: {error}")


def combine_by_votes(
    results: Sequence[ColumnResult], codes: Sequence[str], *, ties: bool
) -> DebateVerdict:
    """Combine the dimensions' own verdicts by their weights, without a call."""
    weights = {one.dimension.name: one.dimension.weight for one in results}
    verdicts = {one.dimension.name: one.verdict for one in results if one.verdict}
    winners = {name: verdict.winner for name, verdict in verdicts.items()}
    marks = {}
    for code in codes:
        scores = {
            name: verdict.marks[code].score
            for name, verdict in verdicts.items()
            if code in verdict.marks
        }
        mean = weighted(scores, weights)
        marks[code] = DimensionScore(score=None if mean is None else round(mean, 6))
    winner = by_votes(winners, weights, ties=ties)
    return DebateVerdict(marks, winner, reason="" if winner else "the dimensions have no winner")
