"""Stance by a cross-encoder that `touche-rad train stance` made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final

from scipy.special import expit

from retrieval._tasks import TrainingReport
from retrieval.stance import Stance
from retrieval.stance.nli import cross_encoder, logits_of, with_claims
from touche_rad.debate import Argument

CHANCE: Final = 0.5
_UNRELATED: Final = 0.2
"""The fixed probability of `unrelated`, which is not trained."""


class StanceReport(TrainingReport):
    """The report of a trained stance model."""

    begun: str = "chance"
    """How the head was initialised: from NLI labels (`NLI`), another stance model (`stance`), or
    at random (`chance`)."""
    before: float | None = None
    """The accuracy of the base model."""
    after: float | None
    claim_only: float | None
    """The accuracy of the model if it sees the claims alone, without the texts."""
    chance: float = CHANCE
    by_origin: dict[str, dict[str, float | None]]
    """Accuracies by which claim people wrote (the other is its generated negation). If they differ
    much, the model recognises generated negations instead of reading the text."""


class TrainedStance:
    """A cross-encoder that scores how much a text supports a claim."""

    def __init__(self, folder: str) -> None:
        self.report = StanceReport.read(Path(folder), "stance")
        self._model = cross_encoder(folder)
        self._lock = Lock()  # tokenizers keep their padding settings: one thread at a time

    def stances(self, text: str, arguments: Sequence[Argument]) -> list[Stance]:
        """Return the stance of each argument to the text."""
        if not arguments:
            return []
        with self._lock:
            scores = supports(self._model, with_claims(text, arguments))
        attacked, supported = scores[0::2], scores[1::2]
        # A text that supports the attacked claim has the opposite position.
        opposite = expit(attacked - supported)
        related = 1 - _UNRELATED
        return [
            Stance(related * (1 - float(one)), related * float(one), _UNRELATED) for one in opposite
        ]


def supports(model: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """Return for each text and claim the log odds that the text supports the claim."""
    return logits_of(model, pairs).reshape(-1)
