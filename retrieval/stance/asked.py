"""Stance by a language model: one call for all candidates of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import anyio
from pydantic import BaseModel, Field, create_model

from retrieval.stance.backend import Stance
from touche_rad.debate import Argument
from touche_rad.models import Model, Prompt
from touche_rad.models.context import run_sync
from touche_rad.models.endpoint import parse_address

SURE: Final = 0.9
"""What the position that a model names is given; it does not say how sure it is."""
LONGEST: Final = 1_200
"""Letters of a text that are shown."""
AT_ONCE: Final = 32
"""Texts asked about at the same time: an answer's deadline counts from when it is asked for."""


class Position(BaseModel):
    """Where one argument stands."""

    number: int
    position: Literal["same", "opposite", "unrelated"]


class Positions(BaseModel):
    """Where all stand."""

    positions: list[Position]


class Asked:
    """Asks a language model."""

    def __init__(self, at: str = "", model: Model | None = None) -> None:
        """`at` is URL#MODEL; without it the run's model is asked, or the environment's."""
        self._model = Model(parse_address(at or None)) if at or model is None else model
        self._prompt = Prompt.load("retrieval.stance", "stance")

    def stances(self, pairs: Sequence[tuple[str, Argument]]) -> list[Stance]:
        """Return the stance of each argument to the text it is paired with."""
        if not pairs:
            return []
        return run_sync(self._all(list(pairs)))

    async def _all(self, pairs: list[tuple[str, Argument]]) -> list[Stance]:
        by_text: dict[str, list[int]] = {}
        for place, (text, _) in enumerate(pairs):
            by_text.setdefault(text, []).append(place)
        found: dict[int, Stance] = {}
        turns = anyio.CapacityLimiter(AT_ONCE)

        async def one(text: str, places: list[int]) -> None:
            async with turns:
                await self._one(text, places, pairs, found)

        try:
            async with anyio.create_task_group() as group:
                for text, places in by_text.items():
                    group.start_soon(one, text, places)
        except* Exception as several:
            raise several.exceptions[0] from None
        return [found[place] for place in range(len(pairs))]

    async def _one(
        self,
        text: str,
        places: list[int],
        pairs: list[tuple[str, Argument]],
        found: dict[int, Stance],
    ) -> None:
        shown = [" ".join(pairs[place][1].text.split())[:LONGEST] for place in places]
        messages = self._prompt.messages(said=text[:LONGEST], arguments=shown)
        answer = await self._model.ask(messages, _positions(len(places)), step="stance")
        named = {one.number: one.position for one in answer.positions}
        for number, place in enumerate(places, 1):
            found[place] = _stance(named.get(number))


def _positions(count: int) -> type[Positions]:
    """Return the schema of so many positions; a small model would go on without end."""
    bound = Field(json_schema_extra={"minItems": count, "maxItems": count})
    return create_model("Positions", __base__=Positions, positions=(list[Position], bound))


def _stance(position: str | None) -> Stance:
    """One that was not named is not known: as likely on either side as beside the matter."""
    if position is None:
        return Stance(1 / 3, 1 / 3, 1 / 3)
    rest = (1 - SURE) / 2
    chances = dict.fromkeys(("same", "opposite", "unrelated"), rest) | {position: SURE}
    return Stance(**chances)
