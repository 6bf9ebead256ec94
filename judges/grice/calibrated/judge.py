"""The judge `calibrated`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import anyio
from pydantic import Field

from judges.grice.calibrated.combiner import combiner
from judges.grice.calibrated.features import features
from touche_rad.debate import Debate, Maxim, Verdict, Verdicts
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services, find


class Calibrated:
    """Weighs what can be seen in a response with one call of a model; does without it too."""

    uses: ClassVar = ("model",)

    class Options(PluginOptions):
        """Whose weights, and whom it asks."""

        weights: Path | None = Field(
            None, description="what touche-rad train judge wrote, instead of ours"
        )
        asks: str = Field("zsl", description="the judge that asks the model: one call a turn")

    def __init__(self, options: Options, services: Services) -> None:
        self._free: Any = find("judge", "grounded").make(services)
        self._asking: Any = None
        if services.model is not None:
            self._asking = find("judge", options.asks).make(services)
        self._combiner = combiner(options.weights)

    async def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        seen: Verdicts = await anyio.to_thread.run_sync(self._free.judge, debate)
        if debate.last.response is None:
            return dict(seen)
        likely = await self._likely(debate)
        sums = self._combiner.without_model if likely is None else self._combiner.with_model
        given = features(debate, seen, likely)
        found = {}
        for maxim in Maxim:
            score = sums[maxim].score(given[maxim])
            told = f"seen {seen[maxim].score or 0:.2f} ({seen[maxim].rationale})"
            asked = "" if likely is None else f"; model {likely[maxim]:.2f}"
            found[maxim] = Verdict(score=score, rationale=f"{told}{asked}")
        return found

    async def _likely(self, debate: Debate) -> Mapping[Maxim, float] | None:
        """How likely the model says yes is, or None where it gave no verdict."""
        if self._asking is None:
            return None
        verdicts: Verdicts = await self._asking.judge(debate)
        scores = {maxim: verdicts[maxim].score for maxim in Maxim}
        if any(score is None for score in scores.values()):
            return None
        return {maxim: float(score or 0.0) for maxim, score in scores.items()}
