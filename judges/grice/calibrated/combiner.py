"""How features become a score: a sum for each maxim, moved so that the line of yes is at 0.5."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from touche_rad.debate import Maxim
from touche_rad.errors import UserError

_FARTHEST: Final = 4.0
"""No single judge may be surer than this many logits."""


class Sum(BaseModel):
    """One maxim's weights, and the probability from which on it says yes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bias: float = 0.0
    weights: Mapping[str, float]
    line: float = 0.5

    def score(self, features: Mapping[str, float]) -> float:
        """Return how likely yes is, as the training saw it, with the line moved to 0.5."""
        total = self.bias + sum(
            weight * features.get(name, 0.0) for name, weight in self.weights.items()
        )
        return logistic(total - logit(self.line, farthest=30.0))


class Bin(BaseModel):
    """One part of a reliability curve."""

    model_config = ConfigDict(frozen=True)

    said: float
    was: float
    turns: int


class Report(BaseModel):
    """What the training measured, out of fold."""

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
    """The weights with a model's word and without it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    how: str
    with_model: Mapping[Maxim, Sum]
    without_model: Mapping[Maxim, Sum]
    report: Mapping[str, Mapping[Maxim, Report]] = {}


def logistic(value: float) -> float:
    """Map any sum onto 0..1."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


def logit(chance: float, *, farthest: float = _FARTHEST) -> float:
    """Undo `logistic`, within bounds."""
    sure = min(max(chance, 1e-13), 1 - 1e-13)
    return max(-farthest, min(farthest, math.log(sure / (1 - sure))))


@cache
def ours() -> Combiner:
    """The weights as shipped: nobody's labels are in them."""
    return Combiner.model_validate_json(files(__package__).joinpath("weights.json").read_bytes())


def combiner(path: Path | None) -> Combiner:
    """Return the weights of a file that `touche-rad train judge` wrote, or ours."""
    if path is None:
        return ours()
    try:
        return Combiner.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first: Any = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise UserError(f"{path}: {place}: {first['msg']}") from None
