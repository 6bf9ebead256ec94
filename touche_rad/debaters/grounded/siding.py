"""Whose side an argument is on, by a stance model: words alone hardly tell.

The best candidates are read by it; those against the user come up, those that agree go down.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Final

from pydantic import Field

from touche_rad.debaters.grounded.features import AGAINST
from touche_rad.debaters.grounded.ranking import Ranked, ordered
from touche_rad.debaters.grounded.reading import Reading
from touche_rad.debaters.grounded.weights import Weights

log = logging.getLogger("touche_rad")

StanceName = Annotated[str, Field(pattern=r"^(words|nli:.+|trained:.+)$")]
STANCE: Final = "who says which side an argument is on: words, nli:MODEL or trained:DIR"
JUDGED: Final = "the best candidates that such a model reads"


class Sides:
    """A stance model, and how many candidates it reads."""

    def __init__(self, name: str, most: int) -> None:
        from retrieval.stance.backend import backend

        self._backend = backend(name)
        self._name = name
        self._most = most

    def read(self, ranked: Sequence[Ranked], reading: Reading, weights: Weights) -> list[Ranked]:
        """Rank anew by what the stance model says; where it fails, as the words have it."""
        judged, rest = list(ranked[: self._most]), list(ranked[self._most :])
        pairs = [(reading.assertion, one.candidate.argument) for one in judged]
        try:
            stances = self._backend.stances(pairs)
        except Exception as error:
            log.warning("grounded ranks without %s: %s", self._name, error)
            return list(ranked)
        known = [
            replace(one, features={**one.features, AGAINST: stance.against})
            for one, stance in zip(judged, stances, strict=True)
        ]
        return ordered([replace(one, score=weights.score(one.features)) for one in known] + rest)


def sides(name: str, most: int) -> Sides | None:
    """Return the stance model that an option names, if it names one."""
    return None if name == "words" else Sides(name, most)
