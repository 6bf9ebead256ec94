"""Stance by an NLI cross-encoder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.special import softmax

from retrieval._arrays import Array
from retrieval._server import LONGEST, LONGEST_TEXT, ModelServer, is_address
from retrieval.dense.encoders import load_model
from retrieval.stance import Stance
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError
from touche_rad.lists import unique
from touche_rad.text import clean, encodable, packaged_table

BATCH: Final = 32
_LABEL: Final = re.compile(r"(?:(no|not|non)[\W_]*)?(entail|contradict|neutral)")
PLAIN: Final = packaged_table(__package__, "plain_pairs.toml")["pairs"]
"""Pairs to which a model gives each of its labels."""
_KINDS: Final = ({"entail", "contradict", "neutral"}, {"entail", "contradict"}, {"entail", "not"})


class Rows(NamedTuple):
    """The rows of a model's head; None if the model has no such row."""

    entailment: int
    contradiction: int | None
    neither: int | None


def rows_of(labels: Mapping[int, str]) -> Rows | None:
    """Read the labels of a model's outputs; None if they are not NLI labels."""
    rows: dict[str, int] = {}
    for row, label in labels.items():
        match = _LABEL.match(label.strip().lower())
        if not match:
            return None
        rows["not" if match[1] else match[2]] = row
    if len(rows) != len(labels) or set(rows) not in _KINDS:
        return None
    return Rows(rows["entail"], rows.get("contradict"), rows.get("neutral", rows.get("not")))


class Nli:
    """An NLI model; its labels tell what its outputs mean."""

    def __init__(self, model: str, label: str = "stance model") -> None:
        """Load a folder, OWNER/NAME on the hub, or ask URL#MODEL; `label` names it in errors."""
        self._model = Served(model, label) if is_address(model) else _Local(model, label)
        self.reads_whole = self._model.reads_whole
        rows = rows_of(self._model.labels)
        if rows is None:
            labels = ", ".join(self._model.labels.values())
            raise UserError(
                f"{label} {model!r} is not an NLI model: its labels are {labels}; expected "
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
        probabilities = self._model.probabilities(pairs)
        result = np.zeros((len(pairs), 3))
        for column, row in enumerate(self.rows):
            if row is not None:
                result[:, column] = probabilities[:, row]
        return result


class _Local:
    """A cross-encoder in this process."""

    def __init__(self, model: str, label: str) -> None:
        label = f"{label} {model!r}"
        if "/" not in model and not Path(model).is_dir():
            raise UserError(f"{label}: there is no such folder (on the hub: OWNER/NAME)")
        loaded = load_model("CrossEncoder", model, label)
        # On a processor in full precision, because half precision is slow.
        self._model = loaded.float() if loaded.device.type == "cpu" else loaded
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
        model = self._model
        tokenizer = model.tokenizer
        limit = tokenizer.model_max_length
        # Its name depends on the version of sentence-transformers; a model may set none.
        longest = model.max_seq_length if hasattr(model, "max_seq_length") else model.max_length
        limit = min(longest or limit, limit)
        with self._lock:
            size = len(tokenizer.tokenize(encodable(hypothesis)))
        return bool(size <= (limit - tokenizer.num_special_tokens_to_add(pair=True)) // 2)


class Served:
    """A classifier on a server with vLLM's route `/classify`, which takes one text for a pair.

    A reply names the most likely label only, so that a few plain pairs are asked for all of them.
    """

    def __init__(self, model: str, label: str) -> None:
        self._server = ModelServer(model, label)
        self._address = self._server.find({"classify": {"input": ["a"]}})
        # The separator is what the model's tokenizer puts between the two texts of a pair.
        address = self._address.replace("classify", "tokenize")
        try:
            tokens = self._server.post(address, {"prompt": "a", "return_token_strs": True})
            last = str(tokens["token_strs"][-1])
            self._separator = last * 2 if last == "</s>" else last
        except (WorkError, LookupError, TypeError):
            self._separator = "[SEP]"
        self._shape: tuple[int, ...] | None = None  # of a row of probabilities
        rows, probabilities = self._ask(PLAIN)
        self._shape = probabilities.shape[1:]
        best = map(int, probabilities.argmax(axis=1))
        self.labels = {place: str(row["label"]) for place, row in zip(best, rows, strict=True)}
        if rows_of(self.labels) and (len(self.labels),) < self._shape:
            labels = ", ".join(self.labels.values())
            raise UserError(f"{label} {model!r} answers only {labels} to {len(PLAIN)} plain pairs")

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Array:
        """Return the probability of each label for each pair."""
        return self._ask(pairs)[1]

    def reads_whole(self, hypothesis: str) -> bool:
        """Whether a hypothesis is never truncated, however long its premise is."""
        return len(hypothesis) <= LONGEST

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[Any], Array]:
        """Ask for all pairs at once; the separator, which is data there, leaves the texts."""
        texts: list[str] = []
        for pair in pairs:
            premise, hypothesis = (clean(text.replace(self._separator, " ")) for text in pair)
            texts.append(premise[:LONGEST_TEXT] + self._separator + hypothesis[:LONGEST])
        return self._server.rows(
            self._address,
            {"input": texts},
            len(texts),
            "probs",
            row_shape=self._shape,
            least=0,
            most=1,
        )


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
        pairs: list[tuple[str, str]] = []
        for argument in arguments:
            pairs += [(text, argument.attacks), (text, argument.supports)]
        read = self._nli.read(pairs)
        attacked = read[0::2]
        supported = read[1::2]
        # Columns: entailed, contradicted, neither.
        opposite = (attacked[:, 0] + supported[:, 1]) / 2
        same = (attacked[:, 1] + supported[:, 0]) / 2
        rest = 1 - opposite - same
        return [Stance(*map(float, row)) for row in zip(same, opposite, rest, strict=True)]


def logits_of(model: Any, pairs: Sequence[tuple[str, str]]) -> Array:
    """Return a cross-encoder's outputs, one row per pair.

    Each distinct pair is computed once: arguments of one result list often share claims.
    """
    from torch.nn import Identity

    different = unique(pairs)
    outputs = model.predict(
        [(encodable(premise), encodable(hypothesis)) for premise, hypothesis in different],
        batch_size=BATCH,
        show_progress_bar=False,
        activation_fn=Identity(),
    )
    by_pair = dict(zip(different, np.asarray(outputs, dtype=float), strict=True))
    return np.array([by_pair[pair] for pair in pairs])
