"""What every stance backend gives, and how one is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from touche_rad.debate import Argument
from touche_rad.errors import OptionError, nearest
from touche_rad.models import Model


@dataclass(frozen=True)
class Stance:
    """How likely an argument is of the same position as a text, of the opposite, or of none."""

    same: float
    opposite: float
    unrelated: float

    @property
    def against(self) -> float:
        """-1 for the same position, 1 for the opposite; 0 where nothing is known."""
        return self.opposite - self.same


class StanceBackend(Protocol):
    """Decides the stance of arguments to texts."""

    def stances(self, pairs: Sequence[tuple[str, Argument]]) -> list[Stance]:
        """Return the stance of each argument to the text it is paired with."""
        ...


def backend(name: str, asked: Model | None = None) -> StanceBackend:
    """Return the backend of this name.

    Args:
        name: `rules`, `nli:MODEL`, `trained:DIR`, `model` or `model:URL#NAME`.
        asked: The run's language model, if it has one.
    """
    kind, _, model = name.partition(":")
    if kind == "rules" and not model:
        from retrieval.stance.rules import Rules

        return Rules()
    if kind == "nli" and model:
        from retrieval.stance.nli import Entailment

        return Entailment(model)
    if kind == "trained" and model:
        from retrieval.stance.trained import Trained

        return Trained(model)
    if kind == "model":
        from retrieval.stance.asked import Asked

        return Asked(model, asked)
    known = ("rules", "nli:MODEL", "trained:DIR", "model", "model:URL#NAME")
    raise OptionError(f"there is no stance backend {name!r}{nearest(name, known)}")
