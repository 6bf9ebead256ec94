"""The lean profile's reading: the opponent's logic and the keywords, asked at once."""

from __future__ import annotations

from pydantic import BaseModel, Field

from touche_rad.debate import Debate
from touche_rad.debaters.rdebater.history import lines
from touche_rad.debaters.rdebater.keywords import Keyword, kept, plain_keywords
from touche_rad.debaters.rdebater.logic import Flaw, Formula, Logic, flaws, predicates
from touche_rad.models import Model, Prompt, dropping_oldest
from touche_rad.models.schemas import Paragraph


class Reading(BaseModel):
    """The answer: each step stands on the one before it, and is therefore written after it."""

    predicates: list[Formula] = Field(json_schema_extra={"maxItems": 8})
    chain: Paragraph
    flaws: list[Flaw] = Field(json_schema_extra={"maxItems": 3})
    keywords: list[Keyword] = Field(json_schema_extra={"maxItems": 8})


async def reading(model: Model, debate: Debate, most: int) -> tuple[Logic, tuple[str, ...]]:
    """Ask for all of it in one call."""
    prompt = Prompt.load(__package__, "reading")
    values = {"most": most, "dialogue": lines(debate)}
    answer = await model.ask(
        prompt.messages(**values), Reading, step="rdebater.reading",
        shorten=dropping_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    found = Logic(predicates(answer.predicates), answer.chain.strip(), flaws(answer.flaws))
    return found, kept(answer.keywords, most) or plain_keywords(debate, most)
