"""Stance by a language model: one call for all arguments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from pydantic import BaseModel, create_model

from retrieval.stance import Stance
from touche_rad import session
from touche_rad.debate import Argument
from touche_rad.models import Model, Prompt
from touche_rad.models.endpoint import parse_address
from touche_rad.models.output import schema_limits

_SURE: Final = 0.9
"""The probability of the position that the model names; it gives no probabilities itself."""
_MAX_CHARACTERS: Final = 1_200
"""Longer texts are truncated in the prompt."""


class Position(BaseModel):
    """The position of one argument."""

    number: int
    position: Literal["same", "opposite", "unrelated"]


class Positions(BaseModel):
    """The positions of all arguments."""

    positions: list[Position]


class ModelStance:
    """Asks a language model."""

    def __init__(self, address: str, model: Model | None) -> None:
        """Use the model at URL#NAME, else `model`, else the one that the environment names."""
        self._model = Model(parse_address(address or None)) if address or model is None else model

    def stances(self, text: str, arguments: Sequence[Argument]) -> list[Stance]:
        """Return the stance of each argument to the text."""
        return session.run(self._ask, text, arguments) if arguments else []

    async def _ask(self, text: str, arguments: Sequence[Argument]) -> list[Stance]:
        texts = [" ".join(argument.text.split())[:_MAX_CHARACTERS] for argument in arguments]
        messages = Prompt.load("retrieval.stance", "stance").messages(
            statement=text[:_MAX_CHARACTERS], arguments=texts
        )
        answer = await self._model.ask(
            messages, _schema(len(texts)), step="stance", max_tokens=100 + 30 * len(texts)
        )
        positions = {position.number: position.position for position in answer.positions}
        return [_stance(positions.get(number)) for number in range(1, len(texts) + 1)]


@lru_cache(64)
def _schema(count: int) -> type[Positions]:
    """Return a schema with exactly `count` positions; a small model might not stop otherwise."""
    number: Any = (int, schema_limits(minimum=1, maximum=count))
    numbered = create_model("Position", __base__=Position, number=number)
    bounds = schema_limits(minItems=count, maxItems=count)
    return create_model("Positions", __base__=Positions, positions=(list[numbered], bounds))


def _stance(position: str | None) -> Stance:
    """A missing position is unknown: each one is equally likely."""
    if position is None:
        return Stance(1 / 3, 1 / 3, 1 / 3)
    likely = dict.fromkeys(("same", "opposite", "unrelated"), (1 - _SURE) / 2)
    return Stance(**{**likely, position: _SURE})
