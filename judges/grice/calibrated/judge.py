"""The judge `calibrated`: a weighted sum of rule-based features and one model call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import anyio
from pydantic import BaseModel, ConfigDict, Field

from judges.grice.weights_file import load_weights
from touche_rad.debate import Debate, Maxim, Verdict, Verdicts
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services, find
from touche_rad.text import count_words, sentences

_FARTHEST: Final = 4.0
"""Maximum logit of a single judge."""


class Sum(BaseModel):
    """Weights of one maxim, and the probability threshold for yes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bias: float = 0.0
    weights: Mapping[str, float]
    line: float = 0.5

    def score(self, features: Mapping[str, float]) -> float:
        """Return the probability of yes, shifted so that the threshold is 0.5."""
        total = self.bias + sum(
            weight * features.get(name, 0.0) for name, weight in self.weights.items()
        )
        return logistic(total - logit(self.line, farthest=30.0))


class Bin(BaseModel):
    """One bin of a reliability curve."""

    model_config = ConfigDict(frozen=True)

    said: float
    was: float
    turns: int


class Report(BaseModel):
    """Cross-validated metrics of the training."""

    model_config = ConfigDict(frozen=True)

    turns: int
    precision: float
    recall: float
    f1: float
    always_yes_f1: float
    model_free_f1: float
    error: float
    """Expected calibration error."""
    reliability: Sequence[Bin]


class Combiner(BaseModel):
    """The weights with and without a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    how: str
    with_model: Mapping[Maxim, Sum]
    without_model: Mapping[Maxim, Sum]
    report: Mapping[str, Mapping[Maxim, Report]] = {}


def logistic(value: float) -> float:
    """Return the logistic function of a value."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


def logit(chance: float, *, farthest: float = _FARTHEST) -> float:
    """Return the inverse of `logistic`, within bounds."""
    sure = min(max(chance, 1e-13), 1 - 1e-13)
    return max(-farthest, min(farthest, math.log(sure / (1 - sure))))


@cache
def ours() -> Combiner:
    """Load the bundled weights; they contain no official labels."""
    return Combiner.model_validate_json(files(__package__).joinpath("weights.json").read_bytes())


def combiner(path: Path | None) -> Combiner:
    """Load the weights of a file from `touche-rad train judge`, or the bundled ones."""
    if path is None:
        return ours()
    return load_weights(path, Combiner, "touche-rad train judge")


MODEL = "model"
FREE = ("quantity", "quality", "relation", "manner", "length", "sentences", "cited")


def features(
    view: Debate, seen: Verdicts, likely: Mapping[Maxim, float] | None
) -> dict[Maxim, dict[str, float]]:
    """Return the features per maxim: all rule-based scores, and the model's score of the maxim."""
    response = view.last.response
    assert response is not None
    words = count_words(response.content)
    common = {maxim.value: logit(seen[maxim].score or 0.0) for maxim in Maxim}
    common["length"] = math.log1p(words) - math.log1p(40)
    common["sentences"] = len(sentences(response.content)) - 2.0
    common["cited"] = float(min(2, len(response.arguments)) - 1)
    if likely is None:
        return {maxim: dict(common) for maxim in Maxim}
    return {maxim: {**common, MODEL: logit(likely[maxim])} for maxim in Maxim}


class Calibrated:
    """Combines rule-based features with one model call; also works without a model."""

    uses: ClassVar = ("model",)

    class Options(PluginOptions):
        """Options."""

        weights: Path | None = Field(
            None, description="weights file written by touche-rad train judge"
        )
        rules: str = Field("grounded", description="judge that gives the rule-based features")
        asks: str = Field("zsl", description="judge that calls the model once per turn")

    def __init__(self, options: Options, services: Services) -> None:
        self._free: Any = find("judge", options.rules).make(services)
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
            model_free = f"seen {seen[maxim].score or 0:.2f} ({seen[maxim].rationale})"
            asked = "" if likely is None else f"; model {likely[maxim]:.2f}"
            found[maxim] = Verdict(score=score, rationale=f"{model_free}{asked}")
        return found

    async def _likely(self, debate: Debate) -> Mapping[Maxim, float] | None:
        """Return the model's probability of yes per maxim, or None without a verdict."""
        if self._asking is None:
            return None
        verdicts: Verdicts = await self._asking.judge(debate)
        scores = {maxim: verdicts[maxim].score for maxim in Maxim}
        if any(score is None for score in scores.values()):
            return None
        return {maxim: float(score or 0.0) for maxim, score in scores.items()}
