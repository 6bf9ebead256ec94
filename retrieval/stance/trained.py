"""Stance by our own cross-encoder, and how it is trained from a collection.

From each argument come two pairs: its text with the claim it supports, and with the one it attacks.
The model learns which is which. Whole topics are held out, and beside the accuracy stand two lines
that need no understanding: chance, and a model that never sees the text.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.stance.backend import Stance
from retrieval.stance.nli import BATCH, cross_encoder
from retrieval.unseen import Unseen
from touche_rad.debate import Argument
from touche_rad.errors import UserError

ABOUT: Final = "stance.json"
_UNRELATED: Final = 0.2
"""What is left for `unrelated` where nothing was learnt of it."""


class Report(BaseModel):
    """What a trained model is, and how well it does on topics that it never saw."""

    model_config = ConfigDict(frozen=True)

    base: str
    collection: str
    seed: int
    epochs: int
    trained_on: int
    tested_on: int
    accuracy: float
    claim_only: float
    chance: float
    by_origin: dict[str, float]
    """The accuracy where people wrote the attacked claim, and where they wrote the supported one:
    far apart, the model knows how a generated negation reads and not what the text argues."""


class Trained:
    """A cross-encoder made by `touche-rad train stance`."""

    def __init__(self, folder: str) -> None:
        try:
            self.report = Report.model_validate(json.loads(Path(folder, ABOUT).read_text("utf-8")))
        except (OSError, ValueError, ValidationError):
            raise UserError(f"{folder}: no stance model of touche-rad train stance") from None
        self._model = cross_encoder(folder)

    def stances(self, pairs: Sequence[tuple[str, Argument]]) -> list[Stance]:
        """Return the stance of each argument to the text it is paired with."""
        if not pairs:
            return []
        attacked = supports(self._model, [(text, one.attacks) for text, one in pairs])
        supported = supports(self._model, [(text, one.supports) for text, one in pairs])
        # Who supports the attacked claim is of the opposite position.
        opposite = 1 / (1 + np.exp(supported - attacked))
        known = 1 - _UNRELATED
        return [
            Stance(known * (1 - float(one)), known * float(one), _UNRELATED) for one in opposite
        ]


def supports(model: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """Return for each text the log odds that it supports the claim beside it."""
    import torch

    whole = [tuple(part.encode("utf-8", "replace").decode() for part in pair) for pair in pairs]
    scores = model.predict(
        whole, batch_size=BATCH, show_progress_bar=False, activation_fn=torch.nn.Identity()
    )
    return np.asarray(scores, dtype=float).reshape(-1)


def accuracy(model: Any, arguments: Sequence[Argument], *, text: bool = True) -> list[bool]:
    """Return for each argument whether the model finds the claim that it attacks."""
    said = [argument.text if text else "" for argument in arguments]
    pairs = list(zip(said, arguments, strict=True))
    attacked = supports(model, [(words, one.attacks) for words, one in pairs])
    supported = supports(model, [(words, one.supports) for words, one in pairs])
    return [bool(one < other) for one, other in zip(attacked, supported, strict=True)]


def usable(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that have a text and both claims."""
    return [
        one
        for one in arguments
        if one.text.strip() and one.attacks.strip() and one.supports.strip()
    ]


def train(
    arguments: Sequence[Argument],
    folder: Path,
    *,
    base: str,
    collection: str,
    epochs: int,
    rate: float,
    seed: int,
) -> Report:
    """Train on the topics of the splits train and dev, test on those of test, and write both."""
    kept = usable(arguments)
    rest, test = Unseen().part(kept)
    model = _fitted(rest, base, epochs, rate, seed, text=True)
    right = accuracy(model, test)
    blind = _fitted(rest, base, epochs, rate, seed, text=False)
    claim_only = accuracy(blind, test, text=False)
    origins = [one.original for one in test]
    by_origin = {
        name: _share(
            [found for found, origin in zip(right, origins, strict=True) if origin == name]
        )
        for name in ("attacks", "supports")
    }
    report = Report(
        base=base, collection=collection, seed=seed, epochs=epochs, trained_on=len(rest),
        tested_on=len(test), accuracy=_share(right), claim_only=_share(claim_only), chance=0.5,
        by_origin=by_origin,
    )  # fmt: skip
    model.save_pretrained(str(folder))
    (folder / ABOUT).write_text(report.model_dump_json(indent=2) + "\n", "utf-8")
    return report


def _share(found: Sequence[bool]) -> float:
    return round(sum(found) / len(found), 4) if found else float("nan")


def _fitted(
    arguments: Sequence[Argument], base: str, epochs: int, rate: float, seed: int, *, text: bool
) -> Any:
    """Fit a cross-encoder; each step sees both claims of its arguments."""
    import torch

    torch.manual_seed(seed)
    model = cross_encoder(base, num_labels=1)
    network, tokenizer = model.model, model.tokenizer
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate)
    chance = random.Random(seed)
    size = BATCH // 2
    steps = epochs * -(-len(arguments) // size)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    network.train()
    for _ in range(epochs):
        order = chance.sample(arguments, len(arguments))
        for start in range(0, len(order), size):
            part = order[start : start + size]
            said = [one.text if text else "" for one in part]
            claims = [one.supports for one in part] + [one.attacks for one in part]
            batch = tokenizer(
                said + said, claims, padding=True, truncation=True, max_length=160,
                return_tensors="pt",
            ).to(network.device)  # fmt: skip
            scores = network(**batch).logits.reshape(2, -1)
            # The supported claim must score above the attacked one of the same text.
            loss = -torch.nn.functional.logsigmoid(scores[0] - scores[1]).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    network.eval()
    return model
