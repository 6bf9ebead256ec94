"""The debate as the ranking compares arguments with it: what was said, as vectors."""

from __future__ import annotations

from dataclasses import dataclass

from touche_rad.debaters.grounded.latent import Array
from touche_rad.debaters.grounded.profile import Library
from touche_rad.debaters.grounded.reading import Reading
from touche_rad.debaters.grounded.terms import Vector, mixed, terms
from touche_rad.debaters.grounded.tone import tone

_CLAIM, _MESSAGE, _ANSWERED, _EARLIER = 1.0, 1.0, 0.6, 0.4
"""What each voice weighs in what the debate is about."""


@dataclass(frozen=True, eq=False)
class Scene:
    """What the debate says, compared once with each candidate."""

    message: Vector
    main: Vector
    context: Vector
    latent_asserted: Array
    latent_context: Array
    tone: float
    said: tuple[frozenset[str], ...]
    """The terms of what the system said, one set a turn."""
    heard: tuple[frozenset[str], ...]
    """The terms of what the user said, one set a turn."""


def scene(reading: Reading, library: Library) -> Scene:
    """Turn what was read into vectors."""
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
        heard=tuple(frozenset(terms(text)) for text in (*reading.earlier, reading.message)),
    )
