"""A verdict from cues: each a number with a weight, and the words to tell it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judges.grice.grounded.weights import logistic
from touche_rad.debate import Verdict

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
