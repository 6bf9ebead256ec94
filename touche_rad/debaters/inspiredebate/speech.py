"""Reasoning first, then the argument: one answer, of which the argument alone goes out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from pydantic import BaseModel, Field, create_model

from touche_rad.debaters.inspiredebate.conversation import without_oldest
from touche_rad.models import Message, Model, ModelError, Prompt
from touche_rad.models.output import Page, Paragraph
from touche_rad.text import clean, count_words


class Speech(BaseModel):
    """What the model answers; the reasoning comes first, so that the argument follows from it."""

    reasoning: Page = Field(min_length=1)
    argument: Paragraph = Field(min_length=1)


@lru_cache(64)
def asked_for(words: int) -> type[Speech]:
    """Return the schema of a speech of so many words, which a server may not end before."""
    bounded: Any = Field(min_length=1, json_schema_extra={"maxLength": max(600, 10 * words)})
    return create_model("Speech", __base__=Speech, argument=(str, bounded))


class Refused(ModelError):
    """The model would not argue, though it answered in form."""


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
"""How a text begins that declines. To be sorry, or not to support a view, is no refusal."""


def refused(text: str) -> bool:
    """Whether a text declines the task instead of doing it (the paper's appendix B.1)."""
    return _REFUSAL.search(text) is not None


async def speech(
    model: Model, messages: Sequence[Message], *, words: int, again: int
) -> tuple[str, str]:
    """Ask for an answer; one that refuses or is too long is asked for again, so many times.

    Returns:
        The argument, and the reasoning behind it.

    Raises:
        Refused: The model refuses still.
        ModelError: There is no valid answer.
    """
    shorten = without_oldest(messages)
    schema = asked_for(words)
    best = await model.ask(messages, schema, step="inspiredebate.speech", shorten=shorten)
    said = list(messages)
    for _ in range(again):
        if not _wrong(best, words):
            break
        said += [Message("assistant", best.model_dump_json()), _again(best, words)]
        try:
            better = await model.ask(said, schema, step="inspiredebate.again")
        except ModelError:
            break
        if not refused(better.argument) or refused(best.argument):
            best = better
    argument = clean(best.argument)
    if refused(argument) or not argument:
        raise Refused(f"{model.name}: refuses to argue: {argument[:80]!r}")
    return argument, clean(best.reasoning)


def together(reasoning: str, argument: str) -> str:
    """Return both as one speech, in the two blocks that the paper's template has."""
    bare = (text.replace("<", "‹").replace(">", "›") for text in (reasoning, argument))
    return "<reasoning and analysis process> {} <argument> {}".format(*bare)


def parted(said: str) -> tuple[str, str]:
    """Return the reasoning and the argument of a speech; one without blocks is an argument."""
    match = _BLOCKS.fullmatch(said.strip())
    return (match[1].strip(), match[2].strip()) if match else ("", said)


_BLOCKS: Final = re.compile(
    r"<reasoning[a-z ]*>(.*?)(?:</reasoning[a-z ]*>)?\s*<argument>(.*?)(?:</argument>)?",
    re.IGNORECASE | re.DOTALL,
)


def _wrong(one: Speech, words: int) -> bool:
    return refused(one.argument) or count_words(one.argument) > words


def _again(one: Speech, words: int) -> Message:
    (message,) = Prompt.load(__package__, "again").messages(
        refused=refused(one.argument), count=count_words(one.argument), words=words
    )
    return message
