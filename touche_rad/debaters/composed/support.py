"""Which sentences of an answer are borne out by the arguments it cites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import anyio
from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate, Maxim, Response
from touche_rad.models import Model, Prompt
from touche_rad.plugins import Judge, Services, find
from touche_rad.text import sentences


class Support(Protocol):
    """Decides for each sentence whether the arguments say it."""

    async def of(self, said: Sequence[str], arguments: Sequence[Argument]) -> list[bool]:
        """Return whether each sentence is supported."""
        ...


class Quoted:
    """The model-free judge's word on Quality, sentence by sentence."""

    def __init__(self, services: Services) -> None:
        self._judge: Judge = find("judge", "grounded").make(services, {"arguments": "all"})

    async def of(self, said: Sequence[str], arguments: Sequence[Argument]) -> list[bool]:
        """Judge each sentence as if it were the whole answer."""
        return await anyio.to_thread.run_sync(self._all, list(said), tuple(arguments))

    def _all(self, said: list[str], arguments: tuple[Argument, ...]) -> list[bool]:
        return [self._one(sentence, arguments) for sentence in said]

    def _one(self, sentence: str, arguments: tuple[Argument, ...]) -> bool:
        answered = Debate().spoken("?").answered(Response(content=sentence, arguments=arguments))
        verdicts = self._judge.judge(answered)
        assert isinstance(verdicts, dict)
        return bool(verdicts[Maxim.QUALITY].yes)


class Entailed:
    """A language model's word on whether the arguments entail a sentence: one call for all."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def of(self, said: Sequence[str], arguments: Sequence[Argument]) -> list[bool]:
        """Ask for all sentences at once."""
        if not said:
            return []
        schema = create_model("Entailments", __base__=Entailments, entailed=_exactly(len(said)))
        messages = Prompt.load(__package__, "entailed").messages(
            arguments=[one.text for one in arguments], sentences=list(said)
        )
        answer = await self._model.ask(messages, schema, step="composed.entailed")
        return [one == "yes" for one in answer.entailed]


class Entailments(BaseModel):
    """Yes or no for each sentence."""

    entailed: list[Literal["yes", "no"]]


def _exactly(count: int) -> tuple[type, object]:
    return list[Literal["yes", "no"]], Field(min_length=count, max_length=count)


async def supported(
    content: str, arguments: Sequence[Argument], by: Support
) -> tuple[list[str], list[str]]:
    """Return an answer's sentences that are supported, and those that are not."""
    said = sentences(content)
    good = await by.of(said, arguments)
    return (
        [one for one, is_good in zip(said, good, strict=True) if is_good],
        [one for one, is_good in zip(said, good, strict=True) if not is_good],
    )
