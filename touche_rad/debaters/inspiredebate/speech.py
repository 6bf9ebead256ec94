"""The two model calls of a turn: search terms; then the reasoning and the argument."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Debate
from touche_rad.debaters.inspiredebate.conversation import (
    Side,
    max_letters,
    opens,
    position,
    topic_of,
    without_oldest,
)
from touche_rad.models import Message, Model, ModelError, Prompt
from touche_rad.models.output import Line, Page, Paragraph
from touche_rad.text import clean, content_words, count_words

TERM_WORDS: Final = 4
"""Maximum words of a search term."""


class Terms(BaseModel):
    """The answer: the search terms."""

    terms: list[Line]


async def search_terms(model: Model, debate: Debate, side: Side, most: int) -> list[str]:
    """Ask for search terms, from the topic, the position and the opponent's last message."""
    messages = Prompt.load(__package__, "keywords").messages(
        most=most,
        longest=TERM_WORDS,
        topic=topic_of(debate),
        position=position(side),
        opponent="" if opens(debate, side) else clean(debate.last.utterance)[:2_000],
    )
    bound = Field(json_schema_extra={"minItems": 1, "maxItems": most})
    schema = create_model("Terms", __base__=Terms, terms=(list[Line], bound))
    answer = await model.ask(messages, schema, step="inspiredebate.keywords")
    return in_bounds(answer.terms, most)


def in_bounds(terms: list[str], most: int) -> list[str]:
    """Shorten long terms, and remove repeated and additional ones."""
    short = (" ".join(clean(term).split()[:TERM_WORDS]) for term in terms)
    found = {term.lower(): term for term in reversed([*short]) if content_words(term)}
    return list(reversed(found.values()))[:most]


def own_words(debate: Debate) -> list[str]:
    """Return the query that is used without a model: the content words of the last message."""
    said = content_words(debate.last.utterance) or content_words(topic_of(debate))
    return [" ".join(said[:30])] if said else []


class Speech(BaseModel):
    """The answer: the reasoning comes first, so that the argument follows from it."""

    reasoning: Page = Field(min_length=1)
    argument: Paragraph = Field(min_length=1)


@lru_cache(64)
def speech_schema(words: int) -> type[Speech]:
    """Return the schema of a speech; the limit in letters leaves room for all words."""
    bounded: Any = Field(min_length=1, json_schema_extra={"maxLength": max_letters(words)})
    return create_model("Speech", __base__=Speech, argument=(str, bounded))


class Refused(ModelError):
    """The model answered in the right format, but refused to argue."""


_REFUSAL: Final = re.compile(
    r"^\W*(?:(?:i['’]?m|i am) (?:really |very |so )?(?:sorry|afraid)\W+(?:but )?|sorry\W+(?:but )?"
    r"|unfortunately\W+)?(?:"
    r"i (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline to|refuse to)\s+"
    r"(?:\w+\s+){0,2}?"
    r"(?:provide|help (?:you|with)|assist|argue|generate|create|write|fulfil|comply)"
    r"|(?:i['’]?m|i am) (?:unable|not able|not comfortable)"
    r"|as an? (?:ai|language model|artificial)\b)",
    re.IGNORECASE,
)
"""The beginning of a refusal. An apology, or not supporting a view, is no refusal."""


def refused(text: str) -> bool:
    """Whether a text refuses the task (the paper's appendix B.1)."""
    return _REFUSAL.search(text) is not None


async def speech(
    model: Model, messages: Sequence[Message], *, words: int, new_attempts: int
) -> tuple[str, str]:
    """Ask for a speech; ask again, up to `new_attempts` times, if it refuses or is too long.

    Returns:
        The argument, and the reasoning behind it.

    Raises:
        Refused: The last answer is a refusal.
        ModelError: There is no valid answer.
    """
    shorten = without_oldest(messages)
    schema = speech_schema(words)
    best = await model.ask(messages, schema, step="inspiredebate.speech", shorten=shorten)
    said = list(messages)
    for _ in range(new_attempts):
        if not _needs_new_attempt(best, words):
            break
        said += [Message("assistant", best.model_dump_json()), _ask_again(best, words)]
        try:
            better = await model.ask(said, schema, step="inspiredebate.again")
        except ModelError:
            break
        if not refused(better.argument) or refused(best.argument):
            best = better
    argument = clean(best.argument)
    if refused(argument) or not argument:
        raise Refused(f"{model.name} refuses to argue: {argument[:80]!r}")
    return argument, clean(best.reasoning)


def join_blocks(reasoning: str, argument: str) -> str:
    """Return both as one text, in the two blocks of the paper's template."""
    bare = (text.replace("<", "‹").replace(">", "›") for text in (reasoning, argument))
    return "<reasoning and analysis process> {} <argument> {}".format(*bare)


def split_blocks(said: str) -> tuple[str, str]:
    """Return the reasoning and the argument of a text; a text without blocks is an argument."""
    match = _BLOCKS.fullmatch(said.strip())
    return (match[1].strip(), match[2].strip()) if match else ("", said)


_BLOCKS: Final = re.compile(
    r"<reasoning[a-z ]*>(.*?)(?:</reasoning[a-z ]*>)?\s*<argument>(.*?)(?:</argument>)?",
    re.IGNORECASE | re.DOTALL,
)


def _needs_new_attempt(one: Speech, words: int) -> bool:
    return refused(one.argument) or count_words(one.argument) > words


def _ask_again(one: Speech, words: int) -> Message:
    (message,) = Prompt.load(__package__, "again").messages(
        refused=refused(one.argument), count=count_words(one.argument), words=words
    )
    return message
