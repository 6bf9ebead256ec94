"""Stance by an NLI cross-encoder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from scipy.special import softmax

from retrieval._arrays import Array
from retrieval._server import LONGEST, LONGEST_TEXT, ModelServer, is_address
from retrieval.dense.encoders import load_model
from retrieval.stance import Stance
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError
from touche_rad.text import clean, encodable

BATCH: Final = 32
_LABEL: Final = re.compile(r"(?:(no|not|non)[\W_]*)?(entail|contradict|neutral)")
PLAIN: Final = (
    ("The door is open.", "The door is open."),
    ("The door is open.", "The door is not open."),
    ("The door is open.", "A man bought two apples yesterday."),
    ("All dogs bark.", "Some dogs bark."),
    ("Nobody came to the party.", "Many people came to the party."),
    ("A woman sings on a stage.", "The woman has three brothers."),
)
"""Pairs to which a model gives each of its labels."""
_KINDS: Final = ({"entail", "contradict", "neutral"}, {"entail", "contradict"}, {"entail", "not"})


@dataclass(frozen=True)
class Rows:
    """The rows of a model's head; None if the model has no such row."""

    entailment: int
    contradiction: int | None
    neither: int | None


def rows_of(labels: Mapping[int, str]) -> Rows | None:
    """Read the labels of a model's outputs; None if they are not NLI labels."""
    rows: dict[str, int] = {}
    for row, label in labels.items():
        match = _LABEL.match(label.strip().lower())
        if match is None:
            return None
        rows["not" if match[1] else match[2]] = row
    if len(rows) != len(labels) or set(rows) not in _KINDS:
        return None
    return Rows(rows["entail"], rows.get("contradict"), rows.get("neutral", rows.get("not")))


class Nli:
    """An NLI model; its labels tell what its outputs mean."""

    def __init__(self, model: str, called: str = "stance model") -> None:
        """Load a folder, OWNER/NAME on the hub, or ask URL#MODEL; `called` names it in errors."""
        self._model = Served(model, called) if is_address(model) else _Local(model, called)
        self.reads_whole = self._model.reads_whole
        rows = rows_of(self._model.labels)
        if rows is None:
            raise UserError(
                f"{called} {model!r} is not an NLI model: its labels are "
                f"{', '.join(self._model.labels.values())}; expected "
                "entailment, contradiction and neutral, or two such as entailment and "
                "not_entailment"
            )
        self.rows = rows

    def read(self, pairs: Sequence[tuple[str, str]]) -> Array:
        """Return the probabilities of entailment, contradiction and neither for each pair.

        A pair is a premise and a hypothesis. A model of two labels gives 0 for the third.
        """
        if not pairs:
            return np.zeros((0, 3))
        likely = self._model.probabilities(pairs)
        rows = (self.rows.entailment, self.rows.contradiction, self.rows.neither)
        nothing = np.zeros(len(likely))
        return np.stack([nothing if row is None else likely[:, row] for row in rows], axis=1)


class _Local:
    """A cross-encoder in this process."""

    def __init__(self, model: str, called: str) -> None:
        self._model = cross_encoder(model, called)
        names: Mapping[Any, Any] = self._model.config.id2label
        self.labels = {int(row): str(label) for row, label in names.items()}
        self._lock = Lock()  # tokenizers keep their padding settings: one thread at a time

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Array:
        """Return the probability of each label for each pair."""
        with self._lock:
            probabilities: Array = softmax(logits_of(self._model, pairs), axis=1)
        return probabilities

    def reads_whole(self, hypothesis: str) -> bool:
        """Whether a hypothesis is never truncated, however long its premise is.

        The longer text of a pair is truncated: one that needs less than half of the tokens is safe.
        """
        model, tokenizer = self._model, self._model.tokenizer
        own = model.max_seq_length if hasattr(model, "max_seq_length") else model.max_length
        limit = min(own or tokenizer.model_max_length, tokenizer.model_max_length)
        with self._lock:
            size = len(tokenizer.tokenize(encodable(hypothesis)))
        return bool(size <= (limit - tokenizer.num_special_tokens_to_add(pair=True)) // 2)


class Served:
    """A classifier on a server with vLLM's route `/classify`, which takes one text for a pair.

    A reply names the most likely label only, so that a few plain pairs are asked for all of them.
    """

    def __init__(self, model: str, called: str) -> None:
        self._server = ModelServer(model, called)
        self._address = self._server.find({"classify": {"input": ["a"]}})
        self._joint = self._separator()
        self.labels: dict[int, str] = {}
        rows = self._ask(PLAIN)
        for row in rows:
            self.labels[int(np.argmax(row["probs"]))] = str(row["label"])
        if rows_of(self.labels) and len(self.labels) < len(rows[0]["probs"]):
            told = ", ".join(self.labels.values())
            raise UserError(f"{called} {model!r} answers only {told} to {len(PLAIN)} plain pairs")

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Array:
        """Return the probability of each label for each pair."""
        return np.array([row["probs"] for row in self._ask(pairs)], dtype=float)

    def reads_whole(self, hypothesis: str) -> bool:
        """Whether a hypothesis is never truncated, however long its premise is."""
        return len(hypothesis) <= LONGEST

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> list[Any]:
        """Ask for all pairs at once; the separator, which is data there, leaves the texts."""
        texts = [
            f"{self._plain(one)[:LONGEST_TEXT]}{self._joint}{self._plain(two)[:LONGEST]}"
            for one, two in pairs
        ]
        return self._server.rows(self._address, {"input": texts}, len(texts), "probs")

    def _plain(self, text: str) -> str:
        return clean(text.replace(self._joint, " "))

    def _separator(self) -> str:
        """Return what the model's tokenizer puts between the two texts of a pair."""
        address = self._address.replace("classify", "tokenize")
        try:
            tokens = self._server.post(address, {"prompt": "a", "return_token_strs": True})
            last = str(tokens["token_strs"][-1])
        except (WorkError, LookupError, TypeError):
            return "[SEP]"
        return last * 2 if last == "</s>" else last


class NliStance:
    """The text is the premise; the attacked and the supported claim are hypotheses.

    A text that entails the attacked claim, or contradicts the supported one, has the opposite
    position. Both readings count half; if a model has labels for one of them only, no side gets
    more than one half.
    """

    def __init__(self, model: str) -> None:
        self._nli = Nli(model)

    def stances(self, text: str, arguments: Sequence[Argument]) -> list[Stance]:
        """Return the stance of each argument to the text."""
        claims = [claim for one in arguments for claim in (one.attacks, one.supports)]
        read = self._nli.read([(text, claim) for claim in claims])
        attacked, supported = read[0::2], read[1::2]
        # Columns: entailed, contradicted, neither.
        opposite = (attacked[:, 0] + supported[:, 1]) / 2
        same = (attacked[:, 1] + supported[:, 0]) / 2
        rest = 1 - opposite - same
        return [Stance(*map(float, row)) for row in zip(same, opposite, rest, strict=True)]


def cross_encoder(model: str, called: str = "stance model") -> Any:
    """Load a cross-encoder; on a processor in full precision, because half precision is slow."""
    called = f"{called} {model!r}"
    if "/" not in model and not Path(model).is_dir():
        raise UserError(f"{called}: there is no such folder (on the hub: OWNER/NAME)")
    loaded = load_model("CrossEncoder", model, called)
    return loaded.float() if loaded.device.type == "cpu" else loaded


def logits_of(model: Any, pairs: Sequence[tuple[str, str]]) -> Array:
    """Return a cross-encoder's outputs, one row per pair.

    Each distinct pair is computed once: arguments of one result list often share claims.
    """
    from torch.nn import Identity

    different = list(dict.fromkeys(pairs))
    outputs = model.predict(
        [(encodable(one), encodable(two)) for one, two in different],
        batch_size=BATCH,
        show_progress_bar=False,
        activation_fn=Identity(),
    )
    by_pair = dict(zip(different, np.asarray(outputs, dtype=float), strict=True))
    return np.array([by_pair[one] for one in pairs])
