"""Stance: is an argument on the side of a text, against it, or about something else?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from touche_rad.debate import Argument
from touche_rad.frozen import frozen


@frozen
class Stance:
    """The probabilities that an argument has the same position as a text, the opposite, or none."""

    same: float
    opposite: float
    unrelated: float

    @property
    def against(self) -> float:
        """-1 for the same position, 1 for the opposite, 0 if unknown."""
        return self.opposite - self.same


class StanceBackend(Protocol):
    """Predicts the stance of arguments to a text."""

    def stances(self, text: str, arguments: Sequence[Argument]) -> list[Stance]:
        """Return the stance of each argument to the text."""
