"""The quotations of a turn, what may stand before them, and how a model chooses one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.models import Model, Prompt, drop_oldest
from touche_rad.models.output import Line
from touche_rad.models.prompts import Thesis, render_dialogue

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


class ChoiceWithLink(Choice):
    """A choice with a sentence that connects the quotation with the user's message."""

    link: Line = ""


class ChoiceWithCheckedLink(ChoiceWithLink):
    """A choice with a link, and whether the argument entails the link."""

    entailed: Literal["yes", "no"] = "no"


@dataclass(frozen=True)
class QuotationChoice:
    """The quotation that a model chose, and what it wants to say before it."""

    quotable: Quotable
    frame: str
    link: str = ""
    entailed: bool = False
    """Whether the model says that the argument entails the link; asked only with `check_link`."""


async def choose_quotation(
    model: Model,
    debate: Debate,
    quotables: Sequence[Quotable],
    *,
    link: int = 0,
    check_link: bool = False,
) -> QuotationChoice | None:
    """Ask a model which quotation answers the user best; None if none can be used.

    Args:
        model: The model; it is called once.
        debate: The debate.
        quotables: The quotations to choose among.
        link: Maximum words of the link; 0 asks for no link.
        check_link: Whether the model also says if the argument entails the link.

    Raises:
        ModelError: The model gave no valid answer.
    """
    prompt = Prompt.load(__package__, "choosing")
    values = {
        "thesis": Thesis.of(debate),
        "dialogue": render_dialogue(debate, max_letters=MAX_LETTERS),
        "quotables": [one.quoted for one in quotables],
        "frames": FRAMES,
        "link": link,
        "check_link": check_link,
    }
    base = (ChoiceWithCheckedLink if check_link else ChoiceWithLink) if link else Choice
    answer = await model.ask(
        prompt.messages(**values),
        _among(len(quotables), base),
        step="grounded.choice",
        shorten=drop_oldest(prompt, "dialogue", values),
    )
    if not answer.number:
        return None
    return QuotationChoice(
        quotables[answer.number - 1],
        FRAMES[answer.frame],
        answer.link if isinstance(answer, ChoiceWithLink) else "",
        isinstance(answer, ChoiceWithCheckedLink) and answer.entailed == "yes",
    )


@lru_cache(64)
def _among(count: int, base: type[Choice]) -> type[Choice]:
    return create_model("Choice", __base__=base, number=(int, Field(ge=0, le=count)))
