"""How a jury combines the scores of its members: the mean, or weights learned from labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from judges.grice.calibrated.judge import Sum, logit
from touche_rad.debate import Maxim

Votes = Mapping[str, Mapping[Maxim, float] | None]
"""The scores of each member that was asked; None if it failed."""


class Weights(BaseModel):
    """Weights learned from labels, a file of `touche-rad train jury`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    how: str
    members: tuple[str, ...]
    """The members as plugins with options, in the order in which they are asked."""
    means: Mapping[Maxim, Mapping[str, float]]
    """The mean logit of each member's scores: it replaces a member that failed."""
    sums: tuple[Mapping[Maxim, Sum], ...]
    """The weights if only the first member was asked, the first two, and so on."""
    report: Mapping[str, Any] = {}

    @model_validator(mode="after")
    def _complete(self) -> Self:
        wrong = [
            name
            for name, found in [("means", self.means), *(("sums", one) for one in self.sums)]
            if set(found) != set(Maxim)
        ]
        if wrong:
            raise ValueError(f"{wrong[0]}: expected the four maxims")
        if not self.members or len(self.sums) != len(self.members):
            raise ValueError("expected as many sums as members, and at least one")
        if any(set(of_maxim) != set(self.members) for of_maxim in self.means.values()):
            raise ValueError("means: expected each member")
        return self

    def score(self, votes: Votes, maxim: Maxim) -> float:
        """Return the probability of yes, shifted so that the threshold is 0.5."""
        logits = dict(self.means[maxim])
        for name, of_member in votes.items():
            if of_member is not None:
                logits[name] = logit(of_member[maxim])
        return self.sums[len(votes) - 1][maxim].score(logits)


def mean_score(votes: Votes, maxim: Maxim) -> float:
    """Return the mean of the members' scores."""
    return fmean(of_member[maxim] for of_member in votes.values() if of_member is not None)


def distance(scores: Sequence[float]) -> float:
    """Return how far the least certain score is from the threshold."""
    return min(abs(score - 0.5) for score in scores)
