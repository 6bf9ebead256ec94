"""What decided a result: the candidates for an answer, and the features of a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Feature:
    """A feature of a candidate."""

    value: float
    weight: float = 1.0
    phrase: str = ""
    """What a positive part of the score means: the end of a sentence that begins with "it"."""

    @property
    def adds(self) -> float:
        """The feature's part of the score."""
        return self.value * self.weight


@dataclass(frozen=True)
class ExplainedCandidate:
    """An argument or an answer that a debater considered."""

    id: str
    """The argument's id, or the name of who gave the answer."""
    text: str
    score: float
    features: Mapping[str, Feature] = field(default_factory=dict)
    routes: Mapping[str, float] = field(default_factory=dict)
    """The searches that found it, each with its share of the best hit's score."""
    topic: str = ""

    def record(self, rank: int, *, chosen: bool) -> dict[str, Any]:
        """Return the candidate as JSON data."""
        return {
            "rank": rank,
            "id": self.id,
            "score": self.score,
            "chosen": chosen,
            "routes": dict(self.routes),
            "features": features_record(self.features),
            "topic": self.topic,
            "text": self.text,
        }


@dataclass(frozen=True)
class ExplainedVerdict:
    """What decided the verdict on one maxim."""

    rule: str
    """How the features become the score, in words."""
    features: Mapping[str, Feature] = field(default_factory=dict)
    """The parts, each with what it says about the response as its phrase."""

    def record(self) -> dict[str, Any]:
        """Return the explanation as JSON data."""
        return {"rule": self.rule, "features": features_record(self.features)}


def features_record(features: Mapping[str, Feature]) -> dict[str, dict[str, float]]:
    """Return features as JSON data."""
    return {
        name: {"value": one.value, "weight": one.weight, "adds": one.adds}
        for name, one in features.items()
    }
