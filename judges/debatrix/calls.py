"""The model calls of one judge, for a dimension or as the chair, and their answer schemas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, partial
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, Field, create_model

from judges.debatrix.dimensions import DebateDimension
from judges.debatrix.speeches import SpeechEntry, fence
from touche_rad.contest import TIE
from touche_rad.frozen import frozen
from touche_rad.models import Model, Prompt, drop_oldest
from touche_rad.models.errors import Truncated
from touche_rad.models.output import Paragraph, Remark, schema_limits
from touche_rad.text import clean

ANSWER_TOKENS: Final = 1_280
"""Token limit of an answer: its keys have at most 2,600 characters without the debaters' marks."""
TOKENS_PER_DEBATER: Final = 128
Score = Annotated[int, Field(ge=1, le=10)]


class Number(BaseModel):
    """The score in a comment."""

    score: Score


class MarkAnswer(BaseModel):
    """Comment and score of a debater."""

    comment: Remark
    score: Score


@cache
def _long_text(most: int) -> Any:
    """Return the type of an analysis or a comment of at most so many characters; 0: of any."""
    limit = [schema_limits(maxLength=most)] if most else []
    return Annotated[(str, *limit, AfterValidator(fence))]


@cache
def _verdict_schema(
    codes: tuple[str, ...], ties: bool, analysed: bool, most: int
) -> type[BaseModel]:
    """Return the schema of a whole verdict: analysis, each debater's mark, the winner."""
    keys: dict[str, Any] = {"analysis": _long_text(most)} if analysed else {}
    keys |= dict.fromkeys(codes, MarkAnswer)
    keys |= {"comment": Paragraph, "winner": _names(codes, ties)}
    return create_model("Verdict", **keys)


def _names(codes: tuple[str, ...], ties: bool) -> Any:
    return Literal[(*codes, TIE) if ties else codes]


_ONE_TEXT: Final = {
    "analysis": "The analysis of a speech or of the debate.",
    "comment": "A judge's comment; its score or winner is asked for in another call.",
}
"""What a schema says of its only text."""
View = Mapping[str, Any]
"""What a dimension's judge wrote: its name, weight and text."""


@frozen
class DimensionScore:
    """A comment and its score; without a score, `reason` says why."""

    comment: str = ""
    score: float | None = None
    reason: str = ""


@frozen
class DebateVerdict:
    """A verdict on the debate in one dimension, or the panel's, by the debaters' codes."""

    marks: Mapping[str, DimensionScore] = field(default_factory=dict)
    winner: str | None = None
    comment: str = ""
    reason: str = ""


@frozen
class JudgeCalls:
    """Asks one judge: that of a dimension, or the panel's chair."""

    model: Model
    header: str
    codes: tuple[str, ...]
    dimension: DebateDimension | None
    """None for the panel's chair."""
    ties: bool
    separate: bool
    """Whether a comment and its score or winner are asked for in two calls, as in the paper."""
    shortens: bool
    """Whether a prompt that is too long is sent without its oldest entries, or fails."""
    most: int
    """Maximum characters of an analysis or a comment; 0: no limit."""
    tie_rules: bool
    """Whether the dimension's own rule for ties is in its prompts."""

    async def about_speech(self, name: str, **values: object) -> tuple[str, DimensionScore | None]:
        """Analyse a speech by the prompt `analyse`, or join its analyses by `speech_summary`.

        The result has the mark, too, unless that is asked for separately.
        """
        if self.separate:
            return await self._write("analysis", name, **values), None
        schema = create_model(
            "SpeechView",
            __doc__="Analysis, comment and score of a speech in one answer.",
            analysis=_long_text(self.most),
            comment=Paragraph,
            score=Score,
        )
        answer = await self._ask(name, schema, **values)
        return answer.analysis, DimensionScore(clean(answer.comment), answer.score)

    async def about_debate(
        self, name: str, *, decide: bool = True, **values: object
    ) -> tuple[str, DebateVerdict | None]:
        """Analyse the debate by the prompt `debate`, or join its analyses by `summary`.

        The result has the verdict, too, if one call asks for both.
        """
        if self.separate or not decide:
            return await self._write("analysis", name, answer="", **values), None
        return await self._decide(name, analysed=True, **values)

    async def _write(self, key: Literal["analysis", "comment"], name: str, **values: object) -> str:
        """Ask for a text alone: an analysis, or a comment without its score or winner."""
        fields: dict[str, Any] = {key: _long_text(self.most)}
        schema = create_model(key.capitalize(), __doc__=_ONE_TEXT[key], **fields)
        return str(dict(await self._ask(name, schema, **values))[key])

    async def judge_speech(self, new: SpeechEntry, analysis: str) -> DimensionScore:
        """Judge a speech by its analysis: a comment, then its score."""
        comment = await self._write(
            "comment", "speech", new=new, analysis=analysis, own=self.dimension is not None
        )
        return await self._score(f"a speech, {new.title}", comment)

    async def discuss(self, analysis: str, earlier: Sequence[View]) -> str:
        """Return the statement of a dimension's judge to the panel."""
        return await self._write("comment", "discuss", own=analysis, earlier=earlier)

    async def judge_debate(self, *, analysis: str, title: str) -> DebateVerdict:
        """Judge the debaters and the winner by an analysis of the debate."""
        values = {"analysis": analysis, "title": title}
        if not self.separate:
            _, verdict = await self._decide("verdict", analysed=False, code="", **values)
            return verdict

        # The paper asks for each comment first, and then for the score or winner in it.
        async def mark(code: str) -> DimensionScore:
            comment = await self._write("comment", "verdict", code=code, answer="", **values)
            return await self._score(f"{code} in the debate", comment)

        async def pick() -> DebateVerdict:
            comment = await self._write("comment", "verdict", code="", answer="", **values)
            schema = create_model("Winner", winner=_names(self.codes, self.ties))
            answer = await self._ask("pick", schema, comment=comment)
            return DebateVerdict(winner=answer.winner, comment=clean(comment))

        calls: list[Callable[[], Awaitable[DimensionScore | DebateVerdict]]] = [
            partial(mark, code) for code in self.codes
        ]
        *answers, picked = await self.model.ask_all([*calls, pick])
        marks = {
            code: answer
            if isinstance(answer, DimensionScore)
            else DimensionScore(reason=str(answer))
            for code, answer in zip(self.codes, answers, strict=True)
        }
        if not isinstance(picked, DebateVerdict):
            return DebateVerdict(marks, reason=str(picked))
        return replace(picked, marks=marks)

    async def _score(self, what: str, comment: str) -> DimensionScore:
        """Ask for the score in a comment (the paper's second call)."""
        answer = await self._ask("score", Number, what=what, comment=comment)
        return DimensionScore(clean(comment), answer.score)

    async def _decide(
        self, name: str, *, analysed: bool, **values: object
    ) -> tuple[str, DebateVerdict]:
        """Ask for a whole verdict in one call, after an analysis if it is wanted."""
        schema = _verdict_schema(self.codes, self.ties, analysed, self.most)
        (form,) = Prompt.load(__package__, "answer").messages(
            codes=self.codes, ties=self.ties, analysed=analysed, most=self.most
        )
        answer = dict(await self._ask(name, schema, answer=form.content, **values))
        marks = {
            code: DimensionScore(clean(answer[code].comment), answer[code].score)
            for code in self.codes
        }
        verdict = DebateVerdict(marks, answer["winner"], clean(answer["comment"]))
        return answer.get("analysis", ""), verdict

    async def _ask(self, name: str, schema: type[Any], **values: object) -> Any:
        """Ask a prompt.

        A prompt that is too long drops the first of its earlier speeches or analyses. An answer
        that is cut off is asked for again with twice the token limit.
        """
        # What to do if the debaters are about equal.
        if self.ties:
            rule = self.dimension.ties if self.dimension and self.tie_rules else ""
            tie_rule = rule or "If no debater is better, it is a tie."
        else:
            rule = self.dimension.no_ties if self.dimension else ""
            rule = rule or "If the debaters are close, choose the better one."
            tie_rule = f"There is no tie. {rule}"
        values |= {
            "header": self.header,
            "codes": self.codes,
            "ties": self.ties,
            "separate": self.separate,
            "decides": self.dimension.decides if self.dimension else "",
            "tie_rule": tie_rule,
            "most": self.most,
        }
        prompt = Prompt.load(__package__, name)
        limit = ANSWER_TOKENS + TOKENS_PER_DEBATER * len(self.codes)
        limit = max(self.model.settings.max_tokens, limit)
        drops = self.shortens and "past" in values
        ask = partial(
            self.model.ask,
            prompt.messages(**values),
            schema,
            step=f"debatrix.{name}",
            shorten=drop_oldest(prompt, "past", values) if drops else None,
        )
        try:
            return await ask(max_tokens=limit)
        except Truncated:
            return await ask(max_tokens=2 * limit)
