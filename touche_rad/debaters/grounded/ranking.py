"""Candidates with their features and scores, best first."""

from __future__ import annotations

from dataclasses import dataclass

from touche_rad.debaters.grounded.candidates import Candidate, gather
from touche_rad.debaters.grounded.features import Features, features
from touche_rad.debaters.grounded.profile import Library
from touche_rad.debaters.grounded.reading import Reading
from touche_rad.debaters.grounded.scene import scene
from touche_rad.debaters.grounded.weights import Weights
from touche_rad.plugins import ArgumentIndex


@dataclass(frozen=True, eq=False)
class Ranked:
    """A candidate, what speaks for it, and its score."""

    candidate: Candidate
    features: Features
    score: float


def ranking(
    index: ArgumentIndex, reading: Reading, library: Library, weights: Weights, k: int
) -> list[Ranked]:
    """Rank what every route finds; equals stand in the order of their ids."""
    candidates = gather(index, reading, k)
    found = features(candidates, scene(reading, library), library)
    ranked = [
        Ranked(candidate, own, weights.score(own))
        for candidate, own in zip(candidates, found, strict=True)
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.candidate.argument.id))
