"""What a debater considered for an answer: candidates with scores and features."""

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
        """Return the candidate as JSON data.

        Args:
            rank: Its place, from 1.
            chosen: Whether the answer cites or quotes it.
        """
        return {
            "rank": rank,
            "id": self.id,
            "score": self.score,
            "chosen": chosen,
            "routes": dict(self.routes),
            "features": {
                name: {"value": one.value, "weight": one.weight, "adds": one.adds}
                for name, one in self.features.items()
            },
            "topic": self.topic,
            "text": self.text,
        }
