"""What the model answers with. Scores are whole numbers from 1 to 10, as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, create_model

from judges.debatrix.speeches import fenced
from touche_rad.contest import TIE
from touche_rad.models.schemas import Page, Paragraph

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


class Mark(BaseModel):
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
    fields |= dict.fromkeys(codes, (Mark, ...))
    fields |= {"comment": (Paragraph, ...), "winner": (_names(codes, ties), ...)}
    return create_model("Verdict", **fields)


def _names(codes: Sequence[str], ties: bool) -> Any:
    names = (*codes, TIE) if ties else tuple(codes)
    return Literal[names]
