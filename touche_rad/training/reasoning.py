"""The reasoning behind an answer that was recorded without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import anyio
from pydantic import BaseModel, Field

from touche_rad.debate import Response
from touche_rad.models import Message, Model, ModelError, Prompt
from touche_rad.models.schemas import Page
from touche_rad.text import clean

Whence = Literal["given", "cited", "teacher"]


class Hindsight(BaseModel):
    """What a teacher answers."""

    reasoning: Page = Field(min_length=1)


def given(response: Response) -> str:
    """Return the reasoning that stands in the file beside a response, if any does."""
    said = (response.model_extra or {}).get("reasoning")
    return clean(said) if isinstance(said, str) else ""


def cited(response: Response) -> str:
    """Return what a response stands on, in the words of what it cites; nothing is added."""
    return " ".join(
        f"{clean(one.supports)} {clean(one.text)}".strip() for one in response.arguments
    )[:1_900]


def taught(
    model: Model,
    asked: Sequence[tuple[Sequence[Message], str]],
    report: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Ask a teacher for the reasoning from each prompt to its argument; a failure is empty."""

    async def all_of_them() -> list[str]:
        try:
            found = await model.ask_all(
                [lambda one=one: _taught(model, *one) for one in asked],  # type: ignore[misc]
                report,
            )
        finally:
            await model.close()
        return ["" if isinstance(one, ModelError) else one for one in found]

    return anyio.run(all_of_them)


async def _taught(model: Model, prompt: Sequence[Message], argument: str) -> str:
    """Show the debate and the argument; the format that the debater asks for is not asked here."""
    said = [one.content for one in prompt if one.role != "system"]
    messages = Prompt.load(__package__, "hindsight").messages(
        debate=said[:-1], asked=said[-1], argument=argument
    )
    return clean((await model.ask(messages, Hindsight, step="train.reasoning")).reasoning)
