"""What guides the model on each maxim: nothing, examples, or reasons made of examples."""

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
"""The paper's best strategy of each maxim on its development turns."""

ANALYSES: Final[Mapping[Strategy, int]] = {"analysis1": 1, "analysis3": 3, "analysis5": 5}


class Reasons(BaseModel):
    """Why one says yes, and why no."""

    yes: Page
    no: Page


@dataclass(frozen=True)
class Guidance:
    """What the model is shown of one maxim."""

    examples: tuple[Example, ...] = ()
    reasons: Reasons | None = None


class Guide:
    """Makes each maxim's guidance once: reasons need the maxim and the examples, not the case."""

    def __init__(
        self, model: Model, strategies: Mapping[Maxim, Strategy], pool: Sequence[Example]
    ) -> None:
        """Take the examples that the strategies need, or say that there are too few."""
        self._model = model
        self.strategies = strategies
        self._shown = {maxim: _shown(maxim, strategies[maxim], pool) for maxim in Maxim}
        self._made: dict[Maxim, Guidance] = {}
        self._making = {maxim: anyio.Lock() for maxim in Maxim}

    async def guidance(self, maxim: Maxim) -> Guidance:
        """Return what guides the model on a maxim; the first caller has it made."""
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
