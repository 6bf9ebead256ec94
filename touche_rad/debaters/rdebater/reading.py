"""The opponent's logic and the keywords, asked of a model in one call or two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Debate
from touche_rad.debaters.asking import ask_about
from touche_rad.debaters.rdebater.logic import Flaw, Formula, Logic, flaws, predicates
from touche_rad.debaters.rdebater.turn import neutral_values
from touche_rad.models import Model, Prompt
from touche_rad.models.output import Paragraph
from touche_rad.text import clean, content_words, words

Keyword = Annotated[str, Field(json_schema_extra={"maxLength": 60})]


class Keywords(BaseModel):
    """The answer of the keyword agent."""

    keywords: list[Keyword]


K = TypeVar("K", bound=BaseModel)


@lru_cache(64)
def _limited(schema: type[K], most: int) -> type[K]:
    """Return a schema with a limit on the number of keywords."""
    bound: Any = (list[Keyword], Field(json_schema_extra={"maxItems": most}))
    return create_model(schema.__name__, __base__=schema, keywords=bound)


def different(keywords: Iterable[str], most: int) -> tuple[str, ...]:
    """Return the keywords without empty, repeated and additional ones."""
    by_words: dict[str, str] = {}
    for keyword in map(clean, keywords):
        if content_words(keyword):
            by_words.setdefault(" ".join(words(keyword)), keyword)
    return tuple(by_words.values())[:most]


def plain_keywords(debate: Debate, most: int) -> tuple[str, ...]:
    """Return the most frequent words of the last message, which are used without a model."""
    message = content_words(clean(debate.last.utterance)) or content_words(clean(debate.claim))
    return tuple(word for word, _ in Counter(message).most_common(most))


async def ask_keywords(model: Model, debate: Debate, most: int) -> tuple[str, ...]:
    """Ask for keywords from the utterances of both sides."""
    answer = await ask_about(
        debate,
        model,
        Prompt.load(__package__, "keywords"),
        _limited(Keywords, most),
        step="rdebater.keywords",
        most=most,
        **neutral_values(debate),
    )
    return different(answer.keywords, most) or plain_keywords(debate, most)


class Reading(BaseModel):
    """The answer of four agents in one call; each step uses the one before it."""

    predicates: list[Formula] = Field(json_schema_extra={"maxItems": 8})
    chain: Paragraph
    flaws: list[Flaw] = Field(json_schema_extra={"maxItems": 3})
    keywords: list[Keyword]


async def read_at_once(model: Model, debate: Debate, most: int) -> tuple[Logic, tuple[str, ...]]:
    """Ask for the opponent's logic and the keywords in one call."""
    values = neutral_values(debate)
    answer = await ask_about(
        debate,
        model,
        Prompt.load(__package__, "reading"),
        _limited(Reading, most),
        step="rdebater.reading",
        most=most,
        **values,
    )
    named = (one.replace(values["other"], "the opponent") for one in answer.flaws)
    logic = Logic(predicates(answer.predicates), answer.chain.strip(), flaws(named))
    return logic, different(answer.keywords, most) or plain_keywords(debate, most)
