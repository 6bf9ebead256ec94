"""Stance backends by name."""

from __future__ import annotations

from typing import Final

from retrieval.stance import StanceBackend
from touche_rad.errors import OptionError, nearest
from touche_rad.models import Model

NAMES: Final = ("nli:MODEL", "nli:URL#MODEL", "model", "model:URL#NAME")


def backend(name: str, model: Model | None = None) -> StanceBackend:
    """Return the stance backend of a name."""
    kind, _, place = name.partition(":")
    if kind == "nli" and place:
        from retrieval.stance.nli import NliStance

        return NliStance(place)
    if kind == "model":
        from retrieval.stance._language_model import ModelStance

        return ModelStance(place, model)
    raise OptionError(f"there is no stance backend {name!r}{nearest(name, NAMES)}")
