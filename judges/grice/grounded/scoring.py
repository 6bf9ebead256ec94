"""Weights, features and short quotations: how the grounded judge turns features into a score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from touche_rad.debate import Verdict
from touche_rad.evidence.support import Manner
from touche_rad.text import clean


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


BIAS = "bias"


@dataclass(frozen=True)
class Cue:
    """Something seen: how much of it there is, and how a rationale tells it."""

    name: str
    value: float
    told: str


def weighed(cues: Sequence[Cue], weights: Mapping[str, float], otherwise: str) -> Verdict:
    """The logistic of the weighted sum; the cue that pulled hardest to its side is told.

    `otherwise` is told where no cue pulled that way, and the bias alone decided.
    """
    pulls = [(weights[cue.name] * cue.value, cue) for cue in cues]
    total = weights[BIAS] + sum(pull for pull, _ in pulls)
    side = 1 if total >= 0 else -1
    pull, cue = max(pulls, key=lambda item: side * item[0])
    told = cue.told if side * pull > 0 else otherwise
    return Verdict(score=round(logistic(total), 4), rationale=told)


QUOTE = 70
"""The most characters of a sentence that a rationale quotes."""


def short(text: str) -> str:
    """A text in quotation marks on one line, its middle left out where it is long."""
    line = clean(text[: 20 * QUOTE])
    if len(line) > QUOTE:
        half = QUOTE // 2
        line = f"{line[:half].rstrip()} … {line[-half:].lstrip()}"
    return f"“{line}”"
