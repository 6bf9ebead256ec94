"""The Keyword Extraction Agent's first step: what the memory is searched for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, Field

from touche_rad.debate import Debate
from touche_rad.debaters.rdebater.history import lines
from touche_rad.models import Model, Prompt, dropping_oldest
from touche_rad.text import clean, content_words, words

Keyword = Annotated[str, Field(json_schema_extra={"maxLength": 60})]


class Keywords(BaseModel):
    """What the agent answers."""

    keywords: list[Keyword] = Field(json_schema_extra={"maxItems": 16})


def kept(said: Iterable[str], most: int) -> tuple[str, ...]:
    """Return the keywords that say something, each once, as many as may be."""
    found: dict[str, str] = {}
    for keyword in map(clean, said):
        if content_words(keyword):
            found.setdefault(" ".join(words(keyword)), keyword)
    return tuple(found.values())[:most]


def plain_keywords(debate: Debate, most: int) -> tuple[str, ...]:
    """Return what is searched for where the model gave nothing: the last message's own words."""
    said = content_words(clean(debate.last.utterance)) or content_words(clean(debate.claim))
    often = Counter(said)
    ranked = sorted(often, key=lambda word: (-often[word], said.index(word)))
    return tuple(ranked[:most])


async def keywords(model: Model, debate: Debate, most: int) -> tuple[str, ...]:
    """Ask for the keywords of both sides' utterances."""
    prompt = Prompt.load(__package__, "keywords")
    values = {"most": most, "dialogue": lines(debate)}
    answer = await model.ask(
        prompt.messages(**values), Keywords, step="rdebater.keywords",
        shorten=dropping_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    return kept(answer.keywords, most) or plain_keywords(debate, most)
