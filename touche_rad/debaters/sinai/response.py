"""Step 5: an answer of at most 60 words, and which arguments it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.sinai.plan import Plan, dialogue
from touche_rad.debaters.sinai.selection import Selected, matched, used
from touche_rad.models import Message, Model, ModelError, Prompt, dropping_oldest
from touche_rad.models.output import Line, Page, Paragraph
from touche_rad.text import clean, count_words, cut_to_words

Wording = Literal["free", "close"]


class Written(BaseModel):
    """The answer of step 5."""

    response: Paragraph = Field(min_length=1)
    justification: Line
    arguments: list[Page] = Field(json_schema_extra={"minItems": 1, "maxItems": 9})


async def response(
    model: Model,
    debate: Debate,
    plan: Plan,
    selected: Sequence[Selected],
    *,
    words: int,
    wording: Wording,
    again: int,
) -> tuple[str, list[Argument]]:
    """Ask for the answer.

    Args:
        model: Who writes.
        debate: What is answered.
        plan: How to answer.
        selected: What to answer with.
        words: The most words.
        wording: Whether the answer may put arguments freely or keeps close to how they stand.
        again: How often it is asked to be shorter.

    Returns:
        The answer, cut at a sentence's end where it is too long still, and the arguments in it.
    """
    prompt = Prompt.load(__package__, "response")
    values = {
        "words": words, "wording": wording, "dialogue": dialogue(debate), "plan": plan,
        "selected": selected,
    }  # fmt: skip
    shorten = dropping_oldest(prompt, "dialogue", values)
    messages = list(prompt.messages(**values))
    written = await model.ask(messages, Written, step="sinai.response", shorten=shorten)
    for _ in range(again):
        if count_words(clean(written.response)) <= words:
            break
        shorter = Prompt.load(__package__, "shorter").messages(
            count=count_words(clean(written.response)), words=words
        )
        said = Message("assistant", written.model_dump_json())
        try:
            written = await model.ask([*messages, said, *shorter], Written, step="sinai.shorter")
        except ModelError:
            break  # what was written is cut, and not lost
    content = clean(written.response)
    if count_words(content) > words:
        content = cut_to_words(content, words)
    given = [one.argument for one in selected]
    named = matched(written.arguments, given)
    return content, [*named, *(one for one in used(content, given) if one not in named)]
