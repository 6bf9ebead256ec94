"""What a stance model knows of topics that it never saw: which of two claims a text attacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from retrieval.stance.nli import BATCH, once
from touche_rad.debate import Argument

CHANCE: Final = 0.5
ALL: Final = "all"
ORIGINS: Final = ("attacks", "supports")
"""The claims that people may have written; the other one is its generated negation."""

Known = dict[str, float | None]


def supports(model: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """Return for each text the log odds that it supports the claim beside it."""
    from torch.nn import Identity

    different, places = once(pairs)
    scores = model.predict(
        different, batch_size=BATCH, show_progress_bar=False, activation_fn=Identity()
    )
    return np.asarray(scores, dtype=float).reshape(-1)[places]


def measured(model: Any, arguments: Sequence[Argument], *, text: bool = True) -> Known:
    """Return how often the model finds the attacked claim: of all arguments, and by origin.

    A model that finds both claims alike is half right.
    """
    said = [one.text if text else "" for one in arguments]
    attacked = supports(model, [(words, one.attacks) for words, one in _with(said, arguments)])
    supported = supports(model, [(words, one.supports) for words, one in _with(said, arguments)])
    right = (np.sign(supported - attacked) + 1) / 2
    origins = np.array([one.original for one in arguments])
    known: Known = {ALL: _share(right)}
    return known | {name: _share(right[origins == name]) for name in ORIGINS}


def _with(said: Sequence[str], arguments: Sequence[Argument]) -> Any:
    return zip(said, arguments, strict=True)


def _share(right: Any) -> float | None:
    return round(float(right.mean()), 4) if len(right) else None
