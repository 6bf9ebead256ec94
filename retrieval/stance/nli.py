"""Stance by an NLI cross-encoder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np

from retrieval.dense.encoders import NEEDED
from retrieval.stance.backend import Stance
from touche_rad.debate import Argument
from touche_rad.errors import UserError

SUPPORTS: Final = "supports"
"""The label of the one row of a model that `touche-rad train stance` made."""
_LABEL: Final = re.compile(r"(?:(no|not|non)[\W_]*)?(entail|contradict|neutral)")
_NEITHER: Final = {
    frozenset({"entail", "contradict", "neutral"}): "neutral",
    frozenset({"entail", "contradict"}): None,
    frozenset({"entail", "not entail"}): "not entail",
    frozenset({"entail", "neutral"}): "neutral",
    frozenset({"contradict", "not contradict"}): "not contradict",
    frozenset({"contradict", "neutral"}): "neutral",
}
"""For the labels that a model has, the one that is neither entailment nor contradiction."""


@dataclass(frozen=True)
class Rows:
    """Which row of the head says what; None where no row says it."""

    entailment: int | None
    contradiction: int | None
    neither: int | None

    @property
    def supporting(self) -> tuple[int, int]:
        """The row of which more, and the one of which less, is for the hypothesis."""
        rows = (self.entailment, self.neither, self.contradiction)
        known = [row for row in rows if row is not None]
        return known[0], known[-1]


def rows_of(config: Any) -> Rows | None:
    """Read the labels in a model's configuration; None where they are not those of NLI."""
    labels: Mapping[Any, Any] = config.id2label
    found = {}
    for at, label in labels.items():
        read = _LABEL.match(str(label).strip().lower())
        if read is None:
            return None
        found[f"not {read[2]}" if read[1] else read[2]] = int(at)
    kinds = frozenset(found)
    if len(found) != len(labels) or kinds not in _NEITHER:
        return None
    neither = _NEITHER[kinds]
    return Rows(found.get("entail"), found.get("contradict"), found[neither] if neither else None)


def told(config: Any) -> str:
    """Return a model's labels as a person reads them."""
    return ", ".join(str(label) for label in config.id2label.values())


BATCH: Final = 32


class Nli:
    """An NLI cross-encoder, read by its own labels."""

    def __init__(self, model: str, called: str = "stance model") -> None:
        """Load a folder, or OWNER/NAME of the hub; `called` is its part in what is told of it."""
        self._model = cross_encoder(model, called)
        self.rows = _rows(self._model, f"{called} {model!r}")
        self._one_at_a_time = Lock()  # a tokenizer that pads for one thread is none for another

    def read(self, pairs: Sequence[tuple[str, str]]) -> Any:
        """Return how likely each premise entails its hypothesis, contradicts it, does neither.

        What a model of two labels does not tell is 0.
        """
        if not pairs:
            return np.zeros((0, 3))
        from torch.nn import Identity

        different, places = once(pairs)
        with self._one_at_a_time:
            scores = self._model.predict(
                different, batch_size=BATCH, show_progress_bar=False, activation_fn=Identity()
            )
        logits = np.asarray(scores, dtype=float)[places]
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        likely = powers / powers.sum(axis=1, keepdims=True)
        rows = (self.rows.entailment, self.rows.contradiction, self.rows.neither)
        nothing = np.zeros(len(likely))
        return np.stack([nothing if row is None else likely[:, row] for row in rows], axis=1)

    def reads_whole(self, hypothesis: str) -> bool:
        """Whether nothing of a hypothesis is cut off, however long its premise is.

        The longer text of a pair is cut; one that fills less than half of the room never is.
        """
        tokenizer = self._model.tokenizer
        model = self._model
        own = model.max_seq_length if hasattr(model, "max_seq_length") else model.max_length
        room = min(own or tokenizer.model_max_length, tokenizer.model_max_length)
        with self._one_at_a_time:
            size = len(tokenizer.tokenize(encodable(hypothesis)))
        return bool(size <= (room - tokenizer.num_special_tokens_to_add(pair=True)) // 2)


class Entailment:
    """The text is the premise; the attacked and the supported claim are hypotheses.

    A text that entails the attacked claim, or contradicts the supported one, is of the opposite
    position to the argument. Both readings count half; of a model that tells only one of
    entailment and contradiction, one reading is left, and no side is more likely than a half.
    """

    def __init__(self, model: str) -> None:
        self._nli = Nli(model)

    def stances(self, pairs: Sequence[tuple[str, Argument]]) -> list[Stance]:
        """Return the stance of each argument to the text it is paired with."""
        if not pairs:
            return []
        read = self._nli.read(with_claims(pairs))
        attacked, supported = read[0::2], read[1::2]
        # Columns: entailed, contradicted, neutral.
        opposite = (attacked[:, 0] + supported[:, 1]) / 2
        same = (attacked[:, 1] + supported[:, 0]) / 2
        rest = 1 - opposite - same
        return [Stance(*map(float, row)) for row in zip(same, opposite, rest, strict=True)]


def cross_encoder(model: str, called: str = "stance model") -> Any:
    """Load a cross-encoder, or say what is missing.

    Half precision, in which many are stored, is slow on a processor: there it is made whole.
    """
    try:
        import torch
        from sentence_transformers import CrossEncoder
        from transformers.utils import logging
    except ImportError:
        raise UserError(f"{called} {model!r} needs sentence-transformers: {NEEDED}") from None
    logging.disable_progress_bar()
    if "/" not in model and not Path(model).is_dir():
        raise UserError(f"{called} {model!r}: there is no such folder (the hub's: OWNER/NAME)")
    stored = {} if torch.cuda.is_available() else {"dtype": torch.float32}
    try:
        return CrossEncoder(model, model_kwargs=stored)
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        raise UserError(f"{called} {model!r} cannot be loaded: {why}") from None


def _rows(model: Any, name: str) -> Rows:
    rows = rows_of(model.config)
    if rows is None:
        raise UserError(
            f"{name} is no NLI model: expected the labels entailment, contradiction and neutral, "
            "or two such as entailment and not_entailment, not_contradiction and contradiction; "
            f"it has {told(model.config)}"
        )
    return rows


def with_claims(pairs: Sequence[tuple[str, Argument]]) -> list[tuple[str, str]]:
    """Pair each text with the claim that the argument attacks, then with the one it supports."""
    return [(text, claim) for text, one in pairs for claim in (one.attacks, one.supports)]


def once(pairs: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[int]]:
    """Return the different pairs, as a tokenizer takes them, and which of them each one is.

    Arguments that are found together share claims: what one attacks, another supports.
    """
    known: dict[tuple[str, str], int] = {}
    places = [known.setdefault((encodable(one), encodable(two)), len(known)) for one, two in pairs]
    return list(known), places


def encodable(text: str) -> str:
    """Return a text that a tokenizer takes: a debate may hold lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
