"""With a language model: it chooses among quotations that are made already, and how to begin.

It never writes a word of the answer, so what holds of a quotation holds of its choice. Only where a
guard checks them, it may give a few connecting words of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.models import Model, Prompt, drop_oldest
from touche_rad.models.output import Line
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


class Linked(Choice):
    """... with a few connecting words."""

    link: Line


class Vouched(Linked):
    """... of which it says whether the argument entails them."""

    entailed: Literal["yes", "no"]


@dataclass(frozen=True)
class Chosen:
    """What the model chose, and what it wants to say before it."""

    quotable: Quotable
    frame: str
    link: str = ""
    entailed: bool = False
    """What the model says of its link, where it was asked."""


async def chosen(
    model: Model, debate: Debate, quotables: Sequence[Quotable], *, link: int = 0,
    vouched: bool = False,
) -> Chosen | None:  # fmt: skip
    """Ask which quotation answers the user best, and how to begin; None where none does.

    Args:
        model: Who is asked, once.
        debate: What was said.
        quotables: What it may choose among.
        link: The most connecting words that it may give; with 0 it is asked for none.
        vouched: Whether it is asked if the chosen argument entails them.

    Raises:
        ModelError: There is no valid answer.
    """
    prompt = Prompt.load(__package__, "choosing")
    values = {
        "dialogue": dialogue(debate),
        "quotables": [one.quoted for one in quotables],
        "frames": FRAMES,
        "link": link,
        "vouched": vouched,
    }
    base = (Vouched if vouched else Linked) if link else Choice
    answer = await model.ask(
        prompt.messages(**values), _among(len(quotables), base), step="grounded.choice",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    if not answer.number:
        return None
    return Chosen(
        quotables[answer.number - 1],
        FRAMES[answer.frame],
        answer.link if isinstance(answer, Linked) else "",
        isinstance(answer, Vouched) and answer.entailed == "yes",
    )


def _among(count: int, base: type[Choice]) -> type[Choice]:
    return create_model("Choice", __base__=base, number=(int, Field(ge=0, le=count)))


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
