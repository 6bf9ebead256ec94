"""Stance by our own trained cross-encoder, and how it is measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.stance.backend import Stance
from retrieval.stance.nli import BATCH, SUPPORTS, cross_encoder, once, rows_of, with_claims
from retrieval.tasks import Unseen
from touche_rad.debate import Argument
from touche_rad.errors import UserError

Begun = Literal["stance", "NLI", "chance"]
_SPREAD: Final = 0.02


def one_row(network: Any, base: str) -> Begun:
    """Give a classifier's network one row, and return what it begins with."""
    import torch

    name = _last_of(network, base)
    last = network.get_submodule(name)
    labels = dict(network.config.id2label)
    begun: Begun = "stance"
    if list(labels.values()) != [SUPPORTS]:
        rows = rows_of(network.config)
        begun = "chance" if rows is None else "NLI"
        row = torch.nn.Linear(
            last.in_features, 1, bias=last.bias is not None, device=last.weight.device,
            dtype=last.weight.dtype,
        )  # fmt: skip
        with torch.no_grad():
            if rows is None:
                spread = getattr(network.config, "initializer_range", None)
                row.weight.normal_(0.0, spread or _SPREAD)
                if row.bias is not None:
                    row.bias.zero_()
            else:
                more, less = rows.supporting
                row.weight.copy_(last.weight[more] - last.weight[less])
                if row.bias is not None:
                    row.bias.copy_(last.bias[more] - last.bias[less])
        network.set_submodule(name, row)
    network.config.num_labels = network.num_labels = 1
    network.config.id2label, network.config.label2id = {0: SUPPORTS}, {SUPPORTS: 0}
    network.config.problem_type = None
    return begun


def beside_the_layers(network: Any) -> list[Any]:
    """Return what stands on top of a classifier's layers and learns with any of them."""
    prefix = network.base_model_prefix
    pooler = getattr(getattr(network, prefix, None), "pooler", None)
    tops = [one for name, one in network.named_children() if name != prefix]
    return [*tops, pooler] if pooler is not None else tops


def _last_of(network: Any, base: str) -> str:
    """Name the linear layer that a classifier ends in."""
    from torch.nn import Linear

    inner = f"{network.base_model_prefix}."
    found = [
        name
        for name, one in network.named_modules()
        if isinstance(one, Linear)
        and one.out_features == network.config.num_labels
        and not name.startswith(inner)
    ]
    if not found:
        raise UserError(f"stance model {base!r} has no head that could be trained")
    return str(found[-1])


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
