"""What can be quoted of an argument, and how a model chooses among quotations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.grounded.openers import FRAMES, Frame
from touche_rad.evidence.standalone import missing_context
from touche_rad.models import Model, Prompt, drop_oldest
from touche_rad.models.dialogue import render_dialogue
from touche_rad.models.output import Line
from touche_rad.text import clean, count_words, cut_to_words, sentences

_MARKUP = re.compile(
    r"https?:|www\.|\w\.(?:com|org|net|gov|edu)\b|\[\w[^\]]*\]|\bp+\. ?\d", re.IGNORECASE
)
"""Addresses, links and page numbers."""
_FEWEST, _MOST = 10, 45
_ENDED = re.compile(r"[.!?…][\"'”’)\]]*$")

_SHRED = re.compile(
    r"(?<=[.!?\"”])(?:\s+[a-z]+(?:-[a-z]+)+|\s*(?:www\.)?[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|gov|edu|uk))+$"
)
"""The name or address of a link after the last full stop."""

FORM: Final = ("dangling", "markup", "question", "short", "long")
"""Names of the faults of form; each is 0 if the text does not have it."""


@lru_cache(maxsize=32_768)
def _form(text: str) -> tuple[float, ...]:
    quoted = " ".join(whole_sentences(text))
    size = count_words(quoted)
    return (
        float(bool(missing_context(quoted))),
        float(bool(_MARKUP.search(quoted))),
        float("?" in quoted),
        max(0.0, (_FEWEST - size) / _FEWEST),
        max(0.0, (size - _MOST) / 15),
    )


def form(text: str) -> dict[str, float]:
    """Return what makes a text a bad quotation; all values are 0 for a good one."""
    return dict(zip(FORM, _form(text), strict=True))


def clear(quoted: str) -> bool:
    """Whether a quotation can be understood without its context, and is free of links."""
    return not missing_context(quoted) and not _MARKUP.search(quoted)


def whole_sentences(text: str) -> list[str]:
    """Return the sentences of a text without fragments at its end, such as a link."""
    found = sentences(_SHRED.sub("", clean(text)))
    while len(found) > 1 and not _ENDED.search(found[-1]):
        found.pop()
    return found


def quotation(text: str, most: int, whole: int) -> str:
    """Return the quotation of a text: all of it, or whole sentences that stand alone.

    Args:
        text: The argument's text.
        most: Maximum words of the quotation.
        whole: Texts of at most this many words are quoted whole.
    """
    found = whole_sentences(text)
    joined = " ".join(found)
    if count_words(joined) <= min(whole, most):
        return joined
    runs = [
        " ".join(found[start:end])
        for start in range(len(found))
        for end in range(start + 1, min(start + 2, len(found)) + 1)
        if count_words(" ".join(found[start:end])) <= most
        and (start == 0 or not missing_context(found[start]))
    ]
    if not runs:
        return cut_to_words(clean(text), most)
    return max(runs, key=lambda run: (clear(run), _worth(run), -runs.index(run)))


def _worth(run: str) -> int:
    """Prefer quotations of about `_MOST` words."""
    size = count_words(run)
    return min(size, _MOST) - max(0, size - _MOST)


_LONGEST: Final = 1_500


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
    """The model's answer; `number` 0 means that no argument is good."""

    number: int = Field(ge=0)
    frame: Frame


class ChoiceWithLink(Choice):
    """A choice with a sentence that connects the quotation with the user's message."""

    link: Line


class ChoiceWithCheckedLink(ChoiceWithLink):
    """A choice with a link, and whether the argument entails the link."""

    entailed: Literal["yes", "no"]


@dataclass(frozen=True)
class QuotationChoice:
    """The quotation that a model chose, and what it wants to say before it."""

    quotable: Quotable
    frame: str
    link: str = ""
    entailed: bool = False
    """Whether the model says that the argument entails the link; asked only with `check_link`."""


async def choose_quotation(
    model: Model, debate: Debate, quotables: Sequence[Quotable], *, link: int = 0,
    check_link: bool = False,
) -> QuotationChoice | None:  # fmt: skip
    """Ask a model which quotation answers the user best; None if the model finds none good.

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
        "dialogue": thesis_and_dialogue(debate),
        "quotables": [one.quoted for one in quotables],
        "frames": FRAMES,
        "link": link,
        "check_link": check_link,
    }
    base = (ChoiceWithCheckedLink if check_link else ChoiceWithLink) if link else Choice
    answer = await model.ask(
        prompt.messages(**values), _among(len(quotables), base), step="grounded.choice",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    if not answer.number:
        return None
    return QuotationChoice(
        quotables[answer.number - 1],
        FRAMES[answer.frame],
        answer.link if isinstance(answer, ChoiceWithLink) else "",
        isinstance(answer, ChoiceWithCheckedLink) and answer.entailed == "yes",
    )


def _among(count: int, base: type[Choice]) -> type[Choice]:
    return create_model("Choice", __base__=base, number=(int, Field(ge=0, le=count)))


def thesis_and_dialogue(debate: Debate) -> list[str]:
    """Return the conversation as lines of a prompt, after the thesis if the user did not say it."""
    lines = render_dialogue(debate, user="User", max_letters=_LONGEST)
    if debate.claim and clean(debate.claim) != clean(debate.turns[0].utterance):
        lines.insert(0, f"The user's thesis: {clean(debate.claim)[:_LONGEST]}")
    return lines
