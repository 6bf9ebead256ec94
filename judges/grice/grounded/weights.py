"""The judge's few numbers, and how a sum of features becomes a score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from judges.grice.grounded.support import Manner


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QualityWeights(_Record):
    """What each manner of support is worth, and where the line lies for coverage."""

    manners: Mapping[Manner, float]
    line: float
    slope: float


class Weights(_Record):
    """All of `weights.json`."""

    how: str
    quality: QualityWeights
    relation: Mapping[str, float]
    quantity: Mapping[str, float]
    manner: Mapping[str, float]


def logistic(value: float) -> float:
    """Map any sum onto 0..1, with 0.5 at 0."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


@cache
def weights() -> Weights:
    """The weights as shipped."""
    return Weights.model_validate_json(files(__package__).joinpath("weights.json").read_bytes())
