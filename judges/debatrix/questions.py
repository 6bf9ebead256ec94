"""The model calls of a column and of the panel, with their answer schemas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, create_model

from judges.debatrix.speeches import Entry, fenced
from touche_rad.contest import TIE
from touche_rad.models import Message, Model, Prompt
from touche_rad.models.output import Page, Paragraph
from touche_rad.models.prompts import drop_oldest
from touche_rad.text import clean

Score = Annotated[int, Field(ge=1, le=10)]
Fenced = AfterValidator(fenced)
Long = Annotated[Page, Fenced]
Short = Annotated[str, Field(json_schema_extra={"maxLength": 300})]


class Analysis(BaseModel):
    """Content analysis."""

    analysis: Long


class SpeechView(BaseModel):
    """Analysis, comment and score of a speech in one answer."""

    analysis: Long
    comment: Paragraph
    score: Score


class Comment(BaseModel):
    """A judge's words; its number is asked for by itself."""

    comment: Long


class Number(BaseModel):
    """The number that a comment gives."""

    score: Score


class MarkAnswer(BaseModel):
    """Comment and score of a debater."""

    comment: Short
    score: Score


@cache
def winner_of(codes: tuple[str, ...], ties: bool) -> type[BaseModel]:
    """Return the schema of a winner's name."""
    return create_model("Winner", winner=(_names(codes, ties), ...))


@cache
def verdict_of(codes: tuple[str, ...], ties: bool, analysed: bool) -> type[BaseModel]:
    """Return the schema of a whole verdict: analysis, each debater's mark, the winner."""
    fields: dict[str, Any] = {"analysis": (Long, ...)} if analysed else {}
    fields |= dict.fromkeys(codes, (MarkAnswer, ...))
    fields |= {"comment": (Paragraph, ...), "winner": (_names(codes, ties), ...)}
    return create_model("Verdict", **fields)


def _names(codes: Sequence[str], ties: bool) -> Any:
    names = (*codes, TIE) if ties else tuple(codes)
    return Literal[names]


Shorten = Callable[[Sequence[Message]], Sequence[Message] | None]


@dataclass(frozen=True)
class Mark:
    """A comment and its score; what could not be had is empty, and `reason` says why."""

    comment: str = ""
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Ruling:
    """A verdict on a debate in one dimension, or of the panel, by the debaters' codes."""

    marks: Mapping[str, Mark] = field(default_factory=dict)
    winner: str | None = None
    comment: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Questions:
    """Asks one judge of the panel: a dimension's, or the chair."""

    model: Model
    header: str
    codes: tuple[str, ...]
    decides: str = ""
    ties: bool = True
    whole: bool = True
    """Comment and number in one answer (lean), or in two calls (paper)."""
    shortens: bool = True
    """Whether a prompt that is too long goes without its oldest entries, or fails."""

    async def analysis(
        self, past: Sequence[Entry], new: Entry, *, raw: bool
    ) -> tuple[str, Mark | None]:
        """Analyse a speech; in one answer with its comment and score where that is asked."""
        values = {
            "header": self.header, "past": past, "raw": raw, "number": new.number,
            "code": new.code, "speech": new.text, "whole": self.whole,
        }  # fmt: skip
        if not self.whole:
            found = await self._ask("analyse", values, Analysis, "past")
            return found.analysis, None
        view = await self._ask("analyse", values, SpeechView, "past")
        return view.analysis, Mark(clean(view.comment), view.score)

    async def speech(self, new: Entry, analysis: str) -> Mark:
        """Judge a speech by its analysis: a comment, then its score."""
        values = {
            "header": self.header, "number": new.number, "code": new.code, "analysis": analysis
        }  # fmt: skip
        said = await self._ask("speech", values, Comment)
        return await self._scored(f"speech number {new.number}, by {new.code}", said.comment)

    async def debate(
        self, past: Sequence[Entry], *, rules: bool = True
    ) -> tuple[str, Ruling | None]:
        """Analyse the debate out of all analyses, with the verdict where one answer gives both."""
        whole = self.whole and rules
        values = {
            "header": self.header, "past": past, "raw": False, "decides": self.decides,
            "whole": whole, "ties": self.ties,
        }  # fmt: skip
        schema = Analysis if not whole else self._verdict(analysed=True)
        found = await self._ask("debate", values, schema, "past")
        analysis: str = found.analysis
        return analysis, self._ruling(found) if whole else None

    async def summary(self, views: Sequence[Mapping[str, Any]]) -> tuple[str, Ruling | None]:
        """Bring the dimensions' views together, with the verdict where one answer gives both."""
        values = {"header": self.header, "views": views, "whole": self.whole, "ties": self.ties}
        schema = Analysis if not self.whole else self._verdict(analysed=True)
        found = await self._ask("summary", values, schema)
        analysis: str = found.analysis
        return analysis, self._ruling(found) if self.whole else None

    async def statement(self, own: str, said: Sequence[Mapping[str, Any]]) -> str:
        """Speak to the panel for a dimension."""
        values = {"header": self.header, "own": own, "said": said}
        statement: str = (await self._ask("discuss", values, Comment)).comment
        return statement

    async def ruling(self, analysis: str) -> Ruling:
        """Judge the debaters and the winner by an analysis of the debate."""
        if self.whole:
            values = {"header": self.header, "analysis": analysis, "ties": self.ties}
            return self._ruling(await self._ask("verdict", values, self._verdict(analysed=False)))
        asked: list[Callable[[], Awaitable[Mark | Ruling]]] = [
            partial(self._debater, code, analysis) for code in self.codes
        ]
        asked.append(partial(self._winner, analysis))
        return self._joined(await self.model.ask_all(asked))

    async def direct(self, past: Sequence[Entry]) -> Ruling:
        """Judge by the speeches themselves, without any analysis."""
        values = {
            "header": self.header, "past": past, "decides": self.decides, "ties": self.ties
        }  # fmt: skip
        if self.whole:
            more = {**values, "task": "all", "code": ""}
            found = await self._ask("direct", more, self._verdict(analysed=False), "past")
            return self._ruling(found)
        asked: list[Callable[[], Awaitable[Mark | Ruling]]] = [
            partial(self._directly, code, values) for code in self.codes
        ]
        asked.append(partial(self._directly_won, values))
        return self._joined(await self.model.ask_all(asked))

    async def _debater(self, code: str, analysis: str) -> Mark:
        values = {"header": self.header, "code": code, "analysis": analysis}
        said = await self._ask("debater", values, Comment)
        return await self._scored(f"{code} in the debate", said.comment)

    async def _winner(self, analysis: str) -> Ruling:
        values = {
            "header": self.header, "decides": self.decides, "ties": self.ties,
            "analysis": analysis,
        }  # fmt: skip
        return await self._picked((await self._ask("winner", values, Comment)).comment)

    async def _directly(self, code: str, values: Mapping[str, Any]) -> Mark:
        asked = {**values, "task": "debater", "code": code}
        said = await self._ask("direct", asked, Comment, "past")
        return await self._scored(f"{code} in the debate", said.comment)

    async def _directly_won(self, values: Mapping[str, Any]) -> Ruling:
        asked = {**values, "task": "winner", "code": ""}
        return await self._picked((await self._ask("direct", asked, Comment, "past")).comment)

    async def _scored(self, what: str, comment: str) -> Mark:
        """The paper's second call: the number out of the comment."""
        values = {"header": self.header, "what": what, "comment": comment}
        number = await self._ask("score", values, Number)
        return Mark(clean(comment), number.score)

    async def _picked(self, comment: str) -> Ruling:
        """The paper's second call: the winner out of the comment."""
        values = {"header": self.header, "comment": comment, "ties": self.ties}
        found = await self._ask("pick", values, winner_of(self.codes, self.ties))
        winner: str = found.winner
        return Ruling(winner=winner, comment=clean(comment))

    def _joined(self, found: Sequence[Any]) -> Ruling:
        """Put the debaters' marks and the winner together; what failed says why."""
        *marks, won = found
        judged = {
            code: mark if isinstance(mark, Mark) else Mark(reason=str(mark))
            for code, mark in zip(self.codes, marks, strict=True)
        }
        if not isinstance(won, Ruling):
            return Ruling(judged, reason=str(won))
        return Ruling(judged, won.winner, won.comment)

    def _verdict(self, *, analysed: bool) -> type[BaseModel]:
        return verdict_of(self.codes, self.ties, analysed)

    def _ruling(self, found: BaseModel) -> Ruling:
        given = found.model_dump()
        marks = {
            code: Mark(clean(given[code]["comment"]), given[code]["score"]) for code in self.codes
        }
        assert given["winner"] in (*self.codes, TIE)
        return Ruling(marks, given["winner"], clean(given["comment"]))

    async def _ask(
        self, name: str, values: Mapping[str, Any], schema: type[Any], oldest: str = ""
    ) -> Any:
        prompt = Prompt.load(__package__, name)
        shorten = drop_oldest(prompt, oldest, values) if oldest and self.shortens else None
        return await self.model.ask(
            prompt.messages(**values), schema, step=f"debatrix.{name}", shorten=shorten
        )
