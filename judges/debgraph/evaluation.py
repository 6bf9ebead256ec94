"""What the paper measures verdicts and feedback by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Label = Literal["pro", "tie", "con"]
_VALUES: Final = {"pro": 0.0, "tie": 0.5, "con": 1.0}


def winner_rmse(found: Sequence[Label | None], gold: Sequence[Label]) -> float | None:
    """Root of the mean squared error of winners, times 100 (pro 0, tie .5, con 1).

    Debates without a verdict are left out; None where none is left.
    """
    errors = [
        (_VALUES[one] - _VALUES[true]) ** 2
        for one, true in zip(found, gold, strict=True)
        if one is not None
    ]
    return 100 * math.sqrt(math.fsum(errors) / len(errors)) if errors else None


@dataclass(frozen=True)
class Matched:
    """How many arguments that feedback names, that a reference names, and that both do."""

    found: int
    gold: int
    both: int

    @property
    def precision(self) -> float | None:
        """The share of what was found that the reference has."""
        return self.both / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of the reference that was found."""
        return self.both / self.gold if self.gold else None

    @property
    def harmonic(self) -> float | None:
        """F1 as it is defined everywhere else."""
        return 2 * self.both / (self.found + self.gold) if self.found + self.gold else None

    @property
    def geometric(self) -> float | None:
        """The geometric mean of precision and recall, which the paper calls F1."""
        if self.precision is None or self.recall is None:
            return None
        return math.sqrt(self.precision * self.recall)
