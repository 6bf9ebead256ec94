"""Score and order candidates with weights from a file, and by the side they are on."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from touche_rad.debaters.grounded.candidates import Candidate, gather
from touche_rad.debaters.grounded.features import (
    AGAINST,
    MEANT,
    NAMES,
    Features,
    features,
    meaning_of,
    meant,
    near,
    scene,
)
from touche_rad.debaters.grounded.profile import Library
from touche_rad.debaters.grounded.reading import Reading
from touche_rad.errors import InputError, nearest
from touche_rad.plugins import ArgumentIndex, arguments_by

_OURS = "weights.json"
_KNOWN = (*NAMES, *MEANT, AGAINST)


class Weights(BaseModel):
    """What each feature counts, and how that was found out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    made: str
    fitted: Mapping[str, float]
    """Learnt from turns whose candidates were read."""
    given: Mapping[str, float]
    """Set by hand: faults of form and repetition, which are rare and always bad; and what a stance
    model's word counts, where one is asked."""

    meant: Mapping[str, float] = {}
    """Learnt likewise, in place of `fitted` where the index has vectors; none: `fitted` holds."""

    @cached_property
    def _known(self) -> dict[bool, dict[str, float]]:
        words = {**self.fitted, **self.given}
        return {False: words, True: {**self.meant, **self.given} if self.meant else words}

    @property
    def named(self) -> set[str]:
        """Every feature that has a weight."""
        return {*self.fitted, *self.given, *self.meant}

    def of(self, features: Mapping[str, float]) -> dict[str, float]:
        """Return the weights that hold for a candidate's features, 0 where there is none."""
        weight = self._known[MEANT[0] in features]
        return {name: weight.get(name, 0.0) for name in features}

    def score(self, features: Mapping[str, float]) -> float:
        """Return the weighted sum."""
        weight = self.of(features)
        return sum(weight[name] * value for name, value in features.items())


def weights(path: Path | None = None) -> Weights:
    """Read weights from a file, or the ones that come with the package."""
    source = files(__package__).joinpath(_OURS) if path is None else path
    try:
        read = Weights.model_validate(json.loads(source.read_text("utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        expected = f"weights as in {_OURS}: {first['msg']}"
        raise InputError(str(source), expected, field=field) from None
    except (OSError, ValueError) as error:
        raise InputError(str(source), f"a JSON file of weights, as in {_OURS}: {error}") from None
    for name in sorted(read.named):
        if name not in _KNOWN:
            expected = f"the name of a feature{nearest(name, _KNOWN)}, got {name!r}"
            raise InputError(str(source), expected, field="fitted, given or meant")
    return read


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
