"""The model calls of one judge, for a dimension or as the chair, and their answer schemas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, create_model

from judges.debatrix.speeches import Entry, fenced
from touche_rad.contest import TIE
from touche_rad.models import Model, Prompt, drop_oldest
from touche_rad.models.output import Page, Paragraph
from touche_rad.text import clean

Score = Annotated[int, Field(ge=1, le=10)]
Long = Annotated[Page, AfterValidator(fenced)]
Short = Annotated[str, Field(json_schema_extra={"maxLength": 300})]


class Analysis(BaseModel):
    """The analysis of a speech or of the debate."""

    analysis: Long


class SpeechView(BaseModel):
    """Analysis, comment and score of a speech in one answer."""

    analysis: Long
    comment: Paragraph
    score: Score


class Comment(BaseModel):
    """A judge's comment; its score or winner is asked for in another call."""

    comment: Long


class Number(BaseModel):
    """The score in a comment."""

    score: Score


class MarkAnswer(BaseModel):
    """Comment and score of a debater."""

    comment: Short
    score: Score


@cache
def _winner_schema(codes: tuple[str, ...], ties: bool) -> type[BaseModel]:
    return create_model("Winner", winner=(_names(codes, ties), ...))


@cache
def _verdict_schema(codes: tuple[str, ...], ties: bool, analysed: bool) -> type[BaseModel]:
    """Return the schema of a whole verdict: analysis, each debater's mark, the winner."""
    keys: dict[str, Any] = {"analysis": (Long, ...)} if analysed else {}
    keys |= dict.fromkeys(codes, (MarkAnswer, ...))
    keys |= {"comment": (Paragraph, ...), "winner": (_names(codes, ties), ...)}
    return create_model("Verdict", **keys)


def _names(codes: tuple[str, ...], ties: bool) -> Any:
    return Literal[(*codes, TIE) if ties else codes]


@dataclass(frozen=True)
class Mark:
    """A comment and its score; without a score, `reason` says why."""

    comment: str = ""
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class DebateVerdict:
    """A verdict on the debate in one dimension, or the panel's, by the debaters' codes."""

    marks: Mapping[str, Mark] = field(default_factory=dict)
    winner: str | None = None
    comment: str = ""
    reason: str = ""


@dataclass(frozen=True)
class JudgeCalls:
    """Asks one judge: that of a dimension, or the panel's chair."""

    model: Model
    header: str
    codes: tuple[str, ...]
    decides: str = ""
    ties: bool = True
    separate: bool = False
    """Whether a comment and its score or winner are asked for in two calls, as in the paper."""
    shortens: bool = True
    """Whether a prompt that is too long is sent without its oldest entries, or fails."""

    async def analyse_speech(
        self, past: Sequence[Entry], new: Entry, *, raw: bool
    ) -> tuple[str, Mark | None]:
        """Analyse a speech; with its mark, unless that is asked for separately.

        Args:
            past: Earlier speeches or analyses.
            new: The speech.
            raw: Whether `past` contains speeches.
        """
        answer = await self._ask(
            "analyse", Analysis if self.separate else SpeechView, "past", past=past, raw=raw,
            number=new.number, code=new.code, speech=new.text, separate=self.separate,
        )  # fmt: skip
        mark = None if self.separate else Mark(clean(answer.comment), answer.score)
        return answer.analysis, mark

    async def judge_speech(self, new: Entry, analysis: str) -> Mark:
        """Judge a speech by its analysis: a comment, then its score."""
        answer = await self._ask(
            "speech", Comment, number=new.number, code=new.code, analysis=analysis
        )
        return await self._score(f"speech number {new.number}, by {new.code}", answer.comment)

    async def analyse_debate(
        self, past: Sequence[Entry], *, decide: bool = True
    ) -> tuple[str, DebateVerdict | None]:
        """Analyse the debate from its analyses; with the verdict, if one call asks for both."""
        whole = decide and not self.separate
        schema = self._schema(analysed=True) if whole else Analysis
        answer = await self._ask(
            "debate", schema, "past", past=past, decides=self.decides,
            answer=self._answer(analysed=True) if whole else "",
        )  # fmt: skip
        return answer.analysis, self._verdict(answer) if whole else None

    async def summarise(
        self, views: Sequence[Mapping[str, Any]]
    ) -> tuple[str, DebateVerdict | None]:
        """Join the dimensions' views; with the verdict, if one call asks for both."""
        whole = not self.separate
        schema = self._schema(analysed=True) if whole else Analysis
        answer = await self._ask(
            "summary", schema, views=views, answer=self._answer(analysed=True) if whole else ""
        )
        return answer.analysis, self._verdict(answer) if whole else None

    async def discuss(self, own: str, earlier: Sequence[Mapping[str, Any]]) -> str:
        """Return the statement of a dimension's judge to the panel."""
        answer = await self._ask("discuss", Comment, own=own, earlier=earlier)
        return str(answer.comment)

    async def judge_debate(
        self, *, analysis: str = "", speeches: Sequence[Entry] = ()
    ) -> DebateVerdict:
        """Judge the debaters and the winner, by an analysis of the debate or by its speeches."""

        async def ask(schema: type[BaseModel], code: str = "", answer: str = "") -> Any:
            return await self._ask(
                "verdict", schema, "past", analysis=analysis, past=speeches, code=code,
                answer=answer, decides=self.decides, ties=self.ties,
            )  # fmt: skip

        if not self.separate:
            schema = self._schema(analysed=False)
            return self._verdict(await ask(schema, answer=self._answer(analysed=False)))

        async def debater(code: str) -> Mark:
            return await self._score(f"{code} in the debate", (await ask(Comment, code)).comment)

        async def winner() -> DebateVerdict:
            return await self._pick((await ask(Comment)).comment)

        calls: list[Callable[[], Awaitable[Mark | DebateVerdict]]] = [
            partial(debater, code) for code in self.codes
        ]
        *answers, won = await self.model.ask_all([*calls, winner])
        marks = {
            code: mark if isinstance(mark, Mark) else Mark(reason=str(mark))
            for code, mark in zip(self.codes, answers, strict=True)
        }
        if not isinstance(won, DebateVerdict):
            return DebateVerdict(marks, reason=str(won))
        return DebateVerdict(marks, won.winner, won.comment)

    async def _score(self, what: str, comment: str) -> Mark:
        """Ask for the score in a comment (the paper's second call)."""
        answer = await self._ask("score", Number, what=what, comment=comment)
        return Mark(clean(comment), answer.score)

    async def _pick(self, comment: str) -> DebateVerdict:
        """Ask for the winner in a comment (the paper's second call)."""
        schema = _winner_schema(self.codes, self.ties)
        answer = await self._ask("pick", schema, comment=comment, codes=self.codes, ties=self.ties)
        return DebateVerdict(winner=answer.winner, comment=clean(comment))

    def _schema(self, *, analysed: bool) -> type[BaseModel]:
        return _verdict_schema(self.codes, self.ties, analysed)

    def _answer(self, *, analysed: bool) -> str:
        """Return the description of a whole verdict's JSON object."""
        (message,) = Prompt.load(__package__, "answer").messages(
            codes=self.codes, ties=self.ties, analysed=analysed
        )
        return message.content

    def _verdict(self, answer: BaseModel) -> DebateVerdict:
        given = answer.model_dump()
        marks = {
            code: Mark(clean(given[code]["comment"]), given[code]["score"]) for code in self.codes
        }
        return DebateVerdict(marks, given["winner"], clean(given["comment"]))

    async def _ask(self, name: str, schema: type[Any], oldest: str = "", **values: Any) -> Any:
        """Ask a prompt; a prompt that is too long drops the first entries of the value `oldest`."""
        prompt = Prompt.load(__package__, name)
        values = {"header": self.header, **values}
        shorten = drop_oldest(prompt, oldest, values) if oldest and self.shortens else None
        return await self.model.ask(
            prompt.messages(**values), schema, step=f"debatrix.{name}", shorten=shorten
        )
