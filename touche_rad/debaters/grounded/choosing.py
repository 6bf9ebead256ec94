"""With a language model: it chooses among quotations that are made already, and how to begin.

It never writes a word of the answer, so what holds of a quotation holds of its choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.models import Model, Prompt, dropping_oldest
from touche_rad.text import clean

Manner = Literal["disagree", "contrary", "differently", "unconvinced", "not so"]
FRAMES: Final[dict[Manner, str]] = {
    "disagree": "I disagree:",
    "contrary": "On the contrary:",
    "differently": "I see it differently:",
    "unconvinced": "I am not convinced:",
    "not so": "Not so:",
}
"""What may stand before the quotation: a stance and no claim."""
_LONGEST: Final = 1_500


@dataclass(frozen=True)
class Quotable:
    """An argument, and what would be quoted of it."""

    argument: Argument
    quoted: str
    path: tuple[str, ...] = ()
    """How the argument was reached."""


class Choice(BaseModel):
    """What the model answers; `number` 0 means that none fits."""

    number: int = Field(ge=0)
    frame: Manner


async def chosen(
    model: Model, debate: Debate, quotables: Sequence[Quotable]
) -> tuple[Quotable, str] | None:
    """Ask which quotation answers the user best, and how to begin; None where none does.

    Raises:
        ModelError: There is no valid answer.
    """
    prompt = Prompt.load(__package__, "choosing")
    values = {
        "dialogue": dialogue(debate),
        "quotables": [one.quoted for one in quotables],
        "frames": FRAMES,
    }
    numbers = Field(ge=0, le=len(quotables))
    schema = create_model("Choice", __base__=Choice, number=(int, numbers))
    answer = await model.ask(
        prompt.messages(**values), schema, step="grounded.choice",
        shorten=dropping_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    if not answer.number:
        return None
    return quotables[answer.number - 1], FRAMES[answer.frame]


def dialogue(debate: Debate) -> list[str]:
    """Return the conversation, a line an utterance, oldest first."""
    lines: list[str] = []
    if debate.claim and clean(debate.claim) != clean(debate.turns[0].utterance):
        lines.append(f"The user's thesis: {clean(debate.claim)[:_LONGEST]}")
    for turn in debate.turns:
        lines.append(f"User: {clean(turn.utterance)[:_LONGEST]}")
        if turn.response is not None:
            lines.append(f"You: {clean(turn.response.content)[:_LONGEST]}")
    return lines
