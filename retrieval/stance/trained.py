"""Stance by our own cross-encoder, and what is known of it: the report of its training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.stance.backend import Stance
from retrieval.stance.gain import CHANCE, supports
from retrieval.stance.nli import cross_encoder, with_claims
from retrieval.unseen import Unseen
from touche_rad.debate import Argument
from touche_rad.errors import UserError

_EARLIER: Final = "stance.json"
_UNRELATED: Final = 0.2
"""What is left for `unrelated` where nothing was learnt of it."""


class Report(BaseModel):
    """What a trained model is, and how well it does on topics that it never saw."""

    model_config = ConfigDict(frozen=True)

    base: str
    begun: str = "chance"
    """What its head began with: `NLI`, another stance model's (`stance`), or `chance`."""
    collection: str
    held_out: str = "test"
    """`test`, or the fold of the topics that it never saw."""
    trained_on: int
    tested_on: int
    steps: int = 0
    before: float | None = None
    """The accuracy of the base alone."""
    after: float | None
    claim_only: float | None
    """The accuracy of a model that was trained alike and never sees a text."""
    chance: float = CHANCE
    by_origin: dict[str, dict[str, float | None]]
    """The same where people wrote the attacked claim, and where they wrote the supported one:
    far apart, the model knows how a generated negation reads and not what the text argues."""
    recipe: dict[str, Any] = {}

    def saw(self, topic: str) -> bool:
        """Whether a topic was among those that were learnt from."""
        return topic not in Unseen.named(self.held_out)


def report_of(folder: Path) -> Report:
    """Return the report of a stance model."""
    try:
        if not (folder / "report.json").exists():
            return _earlier(json.loads((folder / _EARLIER).read_text("utf-8")))
        return Report.model_validate(json.loads((folder / "report.json").read_text("utf-8")))
    except (OSError, ValueError, KeyError, ValidationError):
        raise UserError(f"{folder}: no stance model of touche-rad train stance") from None


def _earlier(told: dict[str, Any]) -> Report:
    """Read the report as it was written once."""
    origins = {name: {"after": share} for name, share in told["by_origin"].items()}
    return Report.model_validate({**told, "after": told["accuracy"], "by_origin": origins})


class Trained:
    """A cross-encoder made by `touche-rad train stance`."""

    def __init__(self, folder: str) -> None:
        self.report = report_of(Path(folder))
        self._model = cross_encoder(folder)
        self._one_at_a_time = Lock()  # a tokenizer that pads for one thread is none for another

    def stances(self, pairs: Sequence[tuple[str, Argument]]) -> list[Stance]:
        """Return the stance of each argument to the text it is paired with."""
        if not pairs:
            return []
        with self._one_at_a_time:
            scores = supports(self._model, with_claims(pairs))
        attacked, supported = scores[0::2], scores[1::2]
        # Who supports the attacked claim is of the opposite position.
        opposite = 1 / (1 + np.exp(np.clip(supported - attacked, -_MOST, _MOST)))
        known = 1 - _UNRELATED
        return [
            Stance(known * (1 - float(one)), known * float(one), _UNRELATED) for one in opposite
        ]


_MOST: Final = 500.0
"""Log odds beyond which a probability is 0 or 1."""
