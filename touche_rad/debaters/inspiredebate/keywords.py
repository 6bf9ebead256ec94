"""The search terms of a turn: one to three, short and specific."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Debate
from touche_rad.debaters.inspiredebate.conversation import Side, opens, position, topic_of
from touche_rad.models import Model, Prompt
from touche_rad.models.output import Line
from touche_rad.text import clean, content_words

LONGEST: Final = 4
"""The most words of a term."""


class Terms(BaseModel):
    """What the model answers."""

    terms: list[Line]


async def keywords(model: Model, debate: Debate, side: Side, most: int) -> list[str]:
    """Ask for the terms, given the topic, our position and what the opponent just said."""
    messages = Prompt.load(__package__, "keywords").messages(
        most=most,
        longest=LONGEST,
        topic=topic_of(debate),
        position=position(side),
        opponent="" if opens(debate, side) else clean(debate.last.utterance)[:2_000],
    )
    bound = Field(json_schema_extra={"minItems": 1, "maxItems": most})
    schema = create_model("Terms", __base__=Terms, terms=(list[Line], bound))
    answer = await model.ask(messages, schema, step="inspiredebate.keywords")
    return in_bounds(answer.terms, most)


def in_bounds(terms: list[str], most: int) -> list[str]:
    """Keep the rule whatever the model did: at most so many terms, each once, of few words."""
    short = (" ".join(clean(term).split()[:LONGEST]) for term in terms)
    found = {term.lower(): term for term in reversed([*short]) if content_words(term)}
    return list(reversed(found.values()))[:most]


def unasked(debate: Debate) -> list[str]:
    """Return what is searched for where the model did not say: the opponent's own words."""
    said = content_words(debate.last.utterance) or content_words(topic_of(debate))
    return [" ".join(said[:30])] if said else []
