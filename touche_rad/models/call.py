"""One request of a plugin while it is under way, with all that it takes: tries, repairs, cuts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from touche_rad.models.occasion import Occasion, occasion
from touche_rad.models.usage import Cost


@dataclass
class Call:
    """What it is counted under, when it must be over, and what it has cost so far."""

    step: str
    occasion: Occasion
    end: float
    cost: Cost = field(default_factory=Cost)

    @classmethod
    def now(cls, step: str, seconds: float) -> Call:
        """Begin a call that may take so many seconds, or less where the occasion ends sooner."""
        here = occasion()
        end = time.monotonic() + seconds
        return cls(step, here, end if here.until is None else min(end, here.until))

    @property
    def left(self) -> float:
        """How many seconds are left."""
        return self.end - time.monotonic()
