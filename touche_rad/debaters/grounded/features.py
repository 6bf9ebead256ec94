"""What speaks for and against quoting an argument now, each as one number with a name.

Relevance asks whether it is about what the user says; stance, whether it is against it; form,
whether it reads well on its own; news, whether it says what nobody has said. Stance is read from
the collection's own fields: an argument attacks or supports a claim that people wrote. Who speaks
like that claim is of its side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from touche_rad.debaters.grounded.candidates import Candidate
from touche_rad.debaters.grounded.form import FORM, form
from touche_rad.debaters.grounded.profile import Library, Profile
from touche_rad.debaters.grounded.scene import Scene
from touche_rad.debaters.grounded.terms import cosine, coverage

Features = dict[str, float]

NAMES: Final = (
    "matter", "main", "target", "claim", "nearest", "denied", "tone", "side",
    "astray", "repeats", "echoes", *FORM,
)  # fmt: skip
"""Every feature that is read off words."""
AGAINST: Final = "against"
"""What a stance model says: 1 against the user, -1 for them, 0 where it does not know."""

_ABOUT_ENOUGH = 1.25
"""Beyond this likeness an argument is on the matter, and more of it only says the same."""
_SAME = 0.6
"""The share of an argument's terms from which on it repeats what was said."""
_TOPIC_ENOUGH = 0.95
"""From this share of the best topic's fit on, a topic is the debate's."""
_TOPIC_VOICES = 5
"""How many arguments of a topic speak for the topic's fit."""


def features(candidates: Sequence[Candidate], scene: Scene, library: Library) -> list[Features]:
    """Return the features of each candidate, in order."""
    profiles = [library.profile(candidate.argument) for candidate in candidates]
    about, near = _latent(profiles, scene)
    alike = [cosine(scene.message, profile.text) for profile in profiles]
    found = [
        _relevance(profile, scene, about[place])
        | _stance(profile, scene, alike[place])
        | _news(profile, scene)
        | form(candidate.argument.text)
        for place, (candidate, profile) in enumerate(zip(candidates, profiles, strict=True))
    ]
    _add_topics(found, candidates)
    _add_sides(found, candidates, profiles, [a + 0.5 * n for a, n in zip(alike, near, strict=True)])
    return found


def _latent(profiles: Sequence[Profile], scene: Scene) -> tuple[list[float], list[float]]:
    """How near each is to the debate by its text and claim, and to the user's words by its text."""
    if not profiles:
        return [], []
    texts = np.stack([profile.latent_text for profile in profiles])
    attacks = np.stack([profile.latent_attacks for profile in profiles])
    about = (texts + attacks) @ scene.latent_context
    near = np.maximum(texts @ scene.latent_asserted, 0)
    return [float(value) for value in about], [float(value) for value in near]


def _relevance(profile: Profile, scene: Scene, about: float) -> Features:
    return {
        "matter": min(about, _ABOUT_ENOUGH),
        "target": cosine(scene.context, profile.attacks),
        "main": coverage(scene.main, profile.attacks),
    }


def _stance(profile: Profile, scene: Scene, alike: float) -> Features:
    """Whether the user speaks like the claim that it attacks, or like the one that it supports."""
    closeness = cosine(scene.message, profile.claim)
    nearest = profile.sign * closeness if closeness >= alike else -alike
    return {
        "claim": profile.sign * coverage(scene.main, profile.claim),
        "nearest": nearest,
        "tone": profile.sign * profile.claim_tone * scene.tone,
        "denied": profile.sign * float(profile.claim_negated),
    }


def _news(profile: Profile, scene: Scene) -> Features:
    """How much of it was said before by the system, and how much the user says already."""
    size = max(1, len(profile.words))
    said = max((len(profile.words & terms) / size for terms in scene.said), default=0.0)
    heard = max((len(profile.words & terms) / size for terms in scene.heard), default=0.0)
    return {"repeats": max(0.0, said - _SAME), "echoes": max(0.0, heard - _SAME)}


def _add_topics(found: Sequence[Features], candidates: Sequence[Candidate]) -> None:
    """How far the discussion that an argument is from lies off, by its best arguments together."""
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
    """Whether those who speak like the user on the same matter are on the other side of it."""
    voices: dict[tuple[str, str], dict[str, list[tuple[float, int]]]] = {}
    for place, (candidate, profile) in enumerate(zip(candidates, profiles, strict=True)):
        sides = voices.setdefault(profile.matter, {})
        sides.setdefault(candidate.argument.attacks, []).append((alike[place], place))
    for place, (candidate, profile) in enumerate(zip(candidates, profiles, strict=True)):
        sides = voices[profile.matter]
        attacks = candidate.argument.attacks
        against = _loudest((side for side in sides if side != attacks), sides, place)
        along = _loudest((attacks,), sides, place)
        found[place]["side"] = against - along if against else 0.0


def _loudest(among: Iterable[str], sides: Mapping[str, list[tuple[float, int]]], but: int) -> float:
    heard = (value for side in among for value, place in sides[side] if place != but)
    return max(heard, default=0.0)
