"""Score and order candidate arguments by features, with weights from a file."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from operator import mul
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from touche_rad.debaters.grounded.library import (
    Array,
    Library,
    Profile,
    Vector,
    cosine,
    mixed,
    terms,
    tone,
)
from touche_rad.debaters.grounded.reading import Candidate, Reading, gather
from touche_rad.errors import InputError, nearest
from touche_rad.evidence.quotable import FORM
from touche_rad.plugins import ArgumentIndex, Meaning, arguments_by, meaning_of

_CLAIM, _MESSAGE, _ANSWERED, _EARLIER = 1.0, 1.0, 0.6, 0.4
"""Weights of the messages in the context vector."""


@dataclass(frozen=True, eq=False)
class Scene:
    """The debate as vectors, for comparison with each candidate."""

    message: Vector
    main: Vector
    context: Vector
    latent_asserted: Array
    latent_context: Array
    tone: float
    said: tuple[frozenset[str], ...]
    """Terms of the system's responses, one set per turn."""
    user_words: tuple[frozenset[str], ...]
    """Terms of the user's messages, one set per turn."""


def scene(reading: Reading, library: Library) -> Scene:
    """Convert a reading to vectors."""
    vector, latent = library.lexis.vector, library.latent.vector
    message, claim, answered = map(vector, (reading.message, reading.claim, reading.answered))
    voices = [(claim, _CLAIM), (message, _MESSAGE), (answered, _ANSWERED)]
    voices += [(vector(text), _EARLIER) for text in reading.earlier[1:]]
    return Scene(
        message=message,
        main=vector(reading.main),
        context=mixed(voices),
        latent_asserted=latent(reading.assertion),
        latent_context=latent(f"{reading.claim} {reading.message} {reading.answered}"),
        tone=tone(reading.assertion),
        said=tuple(frozenset(terms(text)) for text in reading.own),
        user_words=tuple(frozenset(terms(text)) for text in (*reading.earlier, reading.message)),
    )


MEANT: Final = (
    "said_text",
    "said_attacks",
    "said_supports",
    "part_attacks",
    "part_supports",
    "claim_text",
    "claim_attacks",
    "claim_supports",
    "answered_text",
)
"""What was said (the message, a part of it, the debate's claim, our last answer), and of an
argument its text or the claim that it attacks or supports."""
_FIELDS: Final = ("text", "attacks", "supports")
_SHARE: Final = 4
"""One in this many candidates of a route may come from vector search."""


def near(meaning: Meaning, reading: Reading, k: int) -> dict[str, float]:
    """Return the ids of the arguments nearest to the messages; the nearest has 1."""
    most = max(1, k // _SHARE)
    found: dict[str, float] = {}
    for field in _FIELDS:
        for ids in meaning.nearest(field, [reading.message, reading.claim], most):
            for rank, one in enumerate(ids):
                found[one] = max(found.get(one, 0.0), 1 - rank / most)
    return found


def meant(
    meaning: Meaning, reading: Reading, candidates: Sequence[Candidate]
) -> list[dict[str, float]]:
    """Return the features of each candidate, in order."""
    ids = [candidate.argument.id for candidate in candidates]
    parts = [part.text for part in reading.parts] or [reading.message]
    said = [reading.message, reading.claim, reading.answered or reading.message, *parts]
    likeness = {field: meaning.likeness(field, said, ids) for field in _FIELDS}
    found = []
    for place in range(len(ids)):
        here = {field: [row[place] for row in likeness[field]] for field in _FIELDS}
        found.append(
            {
                "said_text": here["text"][0],
                "said_attacks": here["attacks"][0],
                "said_supports": here["supports"][0],
                "part_attacks": max(here["attacks"][3:]),
                "part_supports": max(here["supports"][3:]),
                "claim_text": here["text"][1],
                "claim_attacks": here["attacks"][1],
                "claim_supports": here["supports"][1],
                "answered_text": here["text"][2] if reading.answered else 0.0,
            }
        )
    return found


Features = dict[str, float]

NAMES: Final = (
    "matter",
    "main",
    "target",
    "claim",
    "nearest",
    "denied",
    "tone",
    "side",
    "astray",
    "repeats",
    "echoes",
    *FORM,
)
"""All features computed from words."""
AGAINST: Final = "against"
"""Output of a stance model: 1 against the user, -1 for the user, 0 unknown."""

_ABOUT_ENOUGH = 1.25
"""Similarity above which more similarity does not count."""
_SAME = 0.6
"""Share of an argument's terms from which it is a repetition."""
_TOPIC_ENOUGH = 0.95
"""Share of the best topic's score from which a topic fits the debate."""
_TOPIC_VOICES = 5
"""Arguments per topic that determine the score of the topic."""


def features(candidates: Sequence[Candidate], scene: Scene, library: Library) -> list[Features]:
    """Return the features of each candidate, in order."""
    profiles = [library.profile(candidate.argument) for candidate in candidates]
    about, near = _latent(profiles, scene)
    alike = [cosine(scene.message, profile.text) for profile in profiles]
    claims = _Claims(scene)
    found = [
        _of_words(profile, scene, claims, *likeness)
        for profile, *likeness in zip(profiles, about, alike, strict=True)
    ]
    _add_topics(found, candidates)
    _add_sides(found, candidates, profiles, [a + 0.5 * n for a, n in zip(alike, near, strict=True)])
    return found


def _latent(profiles: Sequence[Profile], scene: Scene) -> tuple[list[float], list[float]]:
    """Return the similarity of each to the debate, and to what the user asserts."""
    if not profiles:
        return [], []
    texts = np.concatenate([one.latent_text for one in profiles]).reshape(len(profiles), -1)
    attacks = np.concatenate([one.latent_attacks for one in profiles]).reshape(len(profiles), -1)
    about = (texts + attacks) @ scene.latent_context
    near = np.maximum(texts @ scene.latent_asserted, 0)
    return [float(value) for value in about], [float(value) for value in near]


class _Claims:
    """The claims of candidates compared with a debate; many candidates share a claim.

    A claim is known by its vector, of which a library has one for equal texts.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._terms = {*scene.message, *scene.context, *scene.main}
        self._main = sum(scene.main.values())
        self._known: dict[int, tuple[float, float, float]] = {}

    def compared(self, claim: Vector) -> tuple[float, float, float]:
        """Return the cosines with the user's message and with the debate, and the coverage.

        The coverage is the share of the user's main clause that has the claim's words.
        """
        found = self._known.get(id(claim))
        if found is None:
            found = self._known[id(claim)] = self._compared(claim)
        return found

    def _compared(self, claim: Vector) -> tuple[float, float, float]:
        message, context, main = self._scene.message, self._scene.context, self._scene.main
        # In order, as all sums over terms are; terms that nobody said are left out first.
        terms = sorted(claim.keys() & self._terms)
        covered = [main[term] for term in terms if term in main]
        return (
            sum([message[term] * claim[term] for term in terms if term in message]),
            sum([context[term] * claim[term] for term in terms if term in context]),
            sum(covered) / self._main if covered else 0.0,
        )


def _of_words(
    profile: Profile, scene: Scene, claims: _Claims, about: float, alike: float
) -> Features:
    """Return how much an argument has to do with the debate, its side, its news and its form.

    The side is known from the claims that it attacks and supports.
    """
    sign = profile.sign
    _, target, main = claims.compared(profile.attacks)
    closeness, _, claim = claims.compared(profile.claim)
    words = profile.words
    size = max(1, len(words))
    said = max([len(words & terms) for terms in scene.said], default=0) / size
    overlap = max([len(words & terms) for terms in scene.user_words], default=0) / size
    return {
        "matter": min(about, _ABOUT_ENOUGH),
        "target": target,
        "main": main,
        "claim": sign * claim,
        "nearest": sign * closeness if closeness >= alike else -alike,
        "tone": sign * profile.claim_tone * scene.tone,
        "denied": sign * float(profile.claim_negated),
        "repeats": max(0.0, said - _SAME),
        "echoes": max(0.0, overlap - _SAME),
        **profile.faults,
    }


def _add_topics(found: Sequence[Features], candidates: Sequence[Candidate]) -> None:
    """Add the distance of each argument's topic from the best topic."""
    by_topic: dict[str, list[float]] = {}
    for own, candidate in zip(found, candidates, strict=True):
        fit = own["matter"] + own["target"]
        by_topic.setdefault(candidate.argument.topic, []).append(fit)
    fits = {
        topic: sum(sorted(values)[-_TOPIC_VOICES:]) / _TOPIC_VOICES
        for topic, values in by_topic.items()
    }
    best = max(fits.values(), default=0.0)
    for own, candidate in zip(found, candidates, strict=True):
        share = fits[candidate.argument.topic] / best if best > 0 else 1.0
        own["astray"] = max(0.0, _TOPIC_ENOUGH - max(0.0, share))


def _add_sides(
    found: Sequence[Features],
    candidates: Sequence[Candidate],
    profiles: Sequence[Profile],
    alike: Sequence[float],
) -> None:
    """Add whether similar arguments on the same claim are on the other side."""
    voices: dict[tuple[str, str], dict[str, list[tuple[float, int]]]] = {}
    for place, (candidate, profile) in enumerate(zip(candidates, profiles, strict=True)):
        sides = voices.setdefault(profile.matter, {})
        sides.setdefault(candidate.argument.attacks, []).append((alike[place], place))
    for place, (candidate, profile) in enumerate(zip(candidates, profiles, strict=True)):
        sides = voices[profile.matter]
        if len(sides) == 1:
            found[place]["side"] = 0.0
            continue
        attacks = candidate.argument.attacks
        against = _loudest((side for side in sides if side != attacks), sides, place)
        along = _loudest((attacks,), sides, place)
        found[place]["side"] = against - along if against else 0.0


def _loudest(among: Iterable[str], sides: Mapping[str, list[tuple[float, int]]], but: int) -> float:
    others = (value for side in among for value, place in sides[side] if place != but)
    return max(others, default=0.0)


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
        return self.scores([features])[0]

    def scores(self, all_features: Iterable[Mapping[str, float]]) -> list[float]:
        """Return the weighted sum of each candidate's features; most have the same names."""
        found: list[float] = []
        names: list[str] = []
        own: list[float] = []
        for features in all_features:
            if list(features) != names:
                names, own = list(features), list(self.of(features).values())
            found.append(sum(map(mul, own, features.values())))
        return found


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
    """A candidate, its features and its score."""

    candidate: Candidate
    features: Features
    score: float


def seen(
    index: ArgumentIndex, reading: Reading, library: Library, k: int
) -> tuple[list[Candidate], list[Features]]:
    """Return the candidates and their features; with vectors also those of vector search."""
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
    """Return the ranked candidates of all routes."""
    candidates, found = seen(index, reading, library, k)
    return ordered(map(Ranked, candidates, found, weights.scores(found)))


def ordered(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Sort by score, then by id."""
    return sorted(ranked, key=lambda one: (-one.score, one.candidate.argument.id))


log = logging.getLogger("touche_rad")

StanceName = Annotated[str, Field(pattern=r"^(words|nli:.+|trained:.+)$")]
STANCE: Final = "how the side of an argument is found: words, nli:MODEL or trained:DIR"
JUDGED: Final = "candidates that the stance model reads"


class Sides:
    """Ranks the best candidates with a stance model."""

    def __init__(self, name: str, most: int) -> None:
        from retrieval.stance.backend import backend

        self._backend = backend(name)
        self._name = name
        self._most = most

    def read(self, ranked: Sequence[Ranked], reading: Reading, weights: Weights) -> list[Ranked]:
        """Rank again with the stance model; on failure keep the ranking."""
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
    """Return the stance model of an option, or None for `words`."""
    return None if name == "words" else Sides(name, most)
