"""The quotations of a turn, what may stand before them, and how a model chooses one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.asking import ask_about
from touche_rad.models import Model, Prompt
from touche_rad.models.prompts import render_dialogue

MAX_LETTERS: Final = 1_500
"""Longer utterances are cut in a prompt."""


Frame = Literal["disagree", "contrary", "differently", "unconvinced", "not so", "none"]
FRAMES: Final[dict[Frame, str]] = {
    "disagree": "I disagree:",
    "contrary": "On the contrary:",
    "differently": "I see it differently:",
    "unconvinced": "I am not convinced:",
    "not so": "Not so:",
    "none": "",
}
"""What can stand before the quotation: a stance without a claim, or nothing."""
STANCES: Final = tuple(words for words in FRAMES.values() if words)


@dataclass(frozen=True)
class Quotable:
    """An argument and its quotation."""

    argument: Argument
    quoted: str
    path: tuple[str, ...] = ()
    """How the argument was reached."""
    opposed: bool = False
    """Whether it is known that the argument opposes the user."""


class Choice(BaseModel):
    """The model's answer; `number` 0 means that no argument can be used."""

    number: int = Field(ge=0)
    frame: Frame = "none"


@dataclass(frozen=True)
class QuotationChoice:
    """The quotation that a model chose, and what stands before it."""

    quotable: Quotable
    frame: str


async def choose_quotation(
    model: Model, debate: Debate, quotables: Sequence[Quotable]
) -> QuotationChoice | None:
    """Ask a model once which quotation answers the user best; None if none can be used.

    Raises:
        ModelError: The model gave no valid answer.
    """
    answer = await ask_about(
        debate,
        model,
        Prompt.load(__package__, "choosing"),
        _among(len(quotables)),
        step="grounded.choice",
        dialogue=render_dialogue(debate, max_letters=MAX_LETTERS),
        quotables=[one.quoted for one in quotables],
        frames=FRAMES,
    )
    if not answer.number:
        return None
    return QuotationChoice(quotables[answer.number - 1], FRAMES[answer.frame])


@lru_cache(64)
def _among(count: int) -> type[Choice]:
    return create_model("Choice", __base__=Choice, number=(int, Field(ge=0, le=count)))
