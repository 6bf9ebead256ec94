"""The guidance on each maxim in a prompt: nothing, examples, or reasons derived from examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import anyio
from pydantic import BaseModel

from judges.grice.sinai.examples import Example, of, questions
from touche_rad.debate import Maxim
from touche_rad.models import Model, Prompt
from touche_rad.models.output import Page

Strategy = Literal["zsl", "fsl1", "fsl2", "analysis1", "analysis3", "analysis5"]

BEST: Final[Mapping[Maxim, Strategy]] = {
    Maxim.RELATION: "zsl",
    Maxim.QUALITY: "analysis5",
    Maxim.MANNER: "analysis1",
    Maxim.QUANTITY: "analysis1",
}
"""The strategy that was best for each maxim on the paper's development data."""

ANALYSES: Final[Mapping[Strategy, int]] = {"analysis1": 1, "analysis3": 3, "analysis5": 5}


class Reasons(BaseModel):
    """Reasons for yes and for no."""

    yes: Page
    no: Page


@dataclass(frozen=True)
class Guidance:
    """The guidance on one maxim."""

    examples: tuple[Example, ...] = ()
    reasons: Reasons | None = None


class Guide:
    """Makes the guidance of each maxim once, because it does not depend on the judged response."""

    def __init__(
        self, model: Model, strategies: Mapping[Maxim, Strategy], pool: Sequence[Example]
    ) -> None:
        """Select the examples that the strategies need; raise UserError if there are too few."""
        self._model = model
        self.strategies = strategies
        self._shown = {maxim: _shown(maxim, strategies[maxim], pool) for maxim in Maxim}
        self._made: dict[Maxim, Guidance] = {}
        self._making = {maxim: anyio.Lock() for maxim in Maxim}

    async def guidance(self, maxim: Maxim) -> Guidance:
        """Return the guidance on a maxim; the first call makes it."""
        async with self._making[maxim]:
            if maxim not in self._made:
                self._made[maxim] = await self._make(maxim)
            return self._made[maxim]

    async def _make(self, maxim: Maxim) -> Guidance:
        positive, negative = self._shown[maxim]
        strategy = self.strategies[maxim]
        if strategy not in ANALYSES:
            pair = (*negative, *positive) if strategy == "fsl2" else (*positive, *negative)
            return Guidance(examples=pair)
        messages = Prompt.load(__package__, "reasons").messages(
            maxim=maxim, question=questions()[maxim], positive=positive, negative=negative
        )
        reasons = await self._model.ask(messages, Reasons, step="sinai.reasons")
        return Guidance(reasons=reasons)


def _shown(
    maxim: Maxim, strategy: Strategy, pool: Sequence[Example]
) -> tuple[list[Example], list[Example]]:
    count = 0 if strategy == "zsl" else ANALYSES.get(strategy, 1)
    return of(pool, maxim, "yes", count), of(pool, maxim, "no", count)
