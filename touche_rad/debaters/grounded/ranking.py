"""Candidates with their features and scores, best first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from touche_rad.debaters.grounded.candidates import Candidate, gather
from touche_rad.debaters.grounded.features import Features, features
from touche_rad.debaters.grounded.meaning import meaning_of, meant, near
from touche_rad.debaters.grounded.profile import Library
from touche_rad.debaters.grounded.reading import Reading
from touche_rad.debaters.grounded.scene import scene
from touche_rad.debaters.grounded.weights import Weights
from touche_rad.plugins import ArgumentIndex, arguments_by


@dataclass(frozen=True, eq=False)
class Ranked:
    """A candidate, what speaks for it, and its score."""

    candidate: Candidate
    features: Features
    score: float


def seen(
    index: ArgumentIndex, reading: Reading, library: Library, k: int
) -> tuple[list[Candidate], list[Features]]:
    """Return the candidates and their features, of meaning too where the index knows it."""
    candidates = gather(index, reading, k)
    meaning = meaning_of(index)
    if meaning is not None:
        candidates = _with_near(index, near(meaning, reading, k), candidates)
    found = features(candidates, scene(reading, library), library)
    if meaning is None:
        return candidates, found
    more = meant(meaning, reading, candidates)
    return candidates, [{**one, **two} for one, two in zip(found, more, strict=True)]


def _with_near(
    index: ArgumentIndex, near: Mapping[str, float], candidates: Sequence[Candidate]
) -> list[Candidate]:
    known = {candidate.argument.id: candidate for candidate in candidates}
    further = [one for one in near if one not in known]
    for one, argument in zip(further, arguments_by(index, further), strict=True):
        if argument is not None:
            known[one] = Candidate(argument)
    for one, share in near.items():
        if one in known:
            known[one].routes["meaning"] = share
            known[one].paths["meaning"] = ("near in meaning to what you say",)
    return list(known.values())


def ranking(
    index: ArgumentIndex, reading: Reading, library: Library, weights: Weights, k: int
) -> list[Ranked]:
    """Rank what every route finds."""
    candidates, found = seen(index, reading, library, k)
    return ordered(
        Ranked(candidate, own, weights.score(own))
        for candidate, own in zip(candidates, found, strict=True)
    )


def ordered(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Return the best first; equals stand in the order of their ids."""
    return sorted(ranked, key=lambda one: (-one.score, one.candidate.argument.id))
