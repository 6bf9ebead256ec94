"""The trainer `stance`: a cross-encoder that predicts which claim an argument attacks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np

from retrieval._training import CollectionTrainer, Job, Trained
from retrieval.dense.encoders import encodable
from retrieval.stance.nli import cross_encoder, rows_of
from retrieval.stance.trained import StanceReport, supports
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.training.folder import Folder
from touche_rad.training.loop import trainable
from touche_rad.training.recipe import Count, Layers, Positive, Recipe

Initialised = Literal["stance", "NLI", "chance"]
ALL: Final = "all"
ORIGINS: Final = ("attacks", "supports")
"""The claims that people may have written; the other one is its generated negation."""
_SUPPORTS: Final = "supports"
"""The label of a stance model's only row."""
_WINDOW: Final = 16
"""Number of batches that are sorted by length together, to save padding."""
_SPREAD: Final = 0.02


class StanceRecipe(Recipe):
    """The settings of the trainer `stance`."""

    epochs: Count = 3
    rate: Positive = 5e-5
    batch: Count = 16
    """Arguments per step, each with both of its claims."""
    layers: Layers = 0
    """Number of trained layers from the top, besides the head; 0 trains the whole model."""


def usable(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that have a text and both claims."""
    return [
        one
        for one in arguments
        if one.text.strip() and one.attacks.strip() and one.supports.strip()
    ]


def batches(arguments: Sequence[Argument], size: int, seed: str) -> Iterator[list[Argument]]:
    """Yield the arguments in shuffled batches of similar length."""
    random_order = random.Random(seed)
    order = random_order.sample(arguments, len(arguments))
    parts = []
    for start in range(0, len(order), size * _WINDOW):
        window = sorted(order[start : start + size * _WINDOW], key=_length)
        parts += [window[at : at + size] for at in range(0, len(window), size)]
    random_order.shuffle(parts)
    yield from parts


def _length(one: Argument) -> int:
    return len(one.text) + max(len(one.supports), len(one.attacks))


def loss(model: Any, batch: Sequence[Argument], recipe: StanceRecipe, *, text: bool) -> Any:
    """Return the pairwise ranking loss: a supported claim should score above an attacked one."""
    import torch

    network = model.model
    texts = [encodable(one.text) if text else "" for one in batch]
    supported = [encodable(one.supports) for one in batch]
    attacked = [encodable(one.attacks) for one in batch]
    tokens = model.tokenizer(
        [*texts, *texts],
        [*supported, *attacked],
        padding=True,
        truncation=True,
        max_length=recipe.longest,
        return_tensors="pt",
    ).to(network.device)
    with torch.autocast(network.device.type, torch.bfloat16, enabled=recipe.half_precision):
        scores = network(**tokens).logits.float().reshape(2, -1)
    return -torch.nn.functional.logsigmoid(scores[0] - scores[1]).mean()


def one_row(network: Any, base: str) -> Initialised:
    """Give a classifier a head with one row, and return how the row is initialised."""
    import torch

    name = _head_of(network, base)
    old = network.get_submodule(name)
    initialised: Initialised = "stance"
    if list(dict(network.config.id2label).values()) != [_SUPPORTS]:
        rows = rows_of(network.config)
        initialised = "chance" if rows is None else "NLI"
        row = torch.nn.Linear(old.in_features, 1, bias=old.bias is not None).to(old.weight)
        with torch.no_grad():
            if rows is None:
                spread = getattr(network.config, "initializer_range", None)
                row.weight.normal_(0.0, spread or _SPREAD)
                if row.bias is not None:
                    row.bias.zero_()
            else:
                more, less = rows.supporting
                row.weight.copy_(old.weight[more] - old.weight[less])
                if row.bias is not None:
                    row.bias.copy_(old.bias[more] - old.bias[less])
        network.set_submodule(name, row)
    network.config.num_labels = network.num_labels = 1
    network.config.id2label, network.config.label2id = {0: _SUPPORTS}, {_SUPPORTS: 0}
    network.config.problem_type = None
    return initialised


def _head_of(network: Any, base: str) -> str:
    """Return the name of a classifier's last linear layer."""
    from torch.nn import Linear

    inner = f"{network.base_model_prefix}."
    heads = [
        name
        for name, module in network.named_modules()
        if isinstance(module, Linear)
        and module.out_features == network.config.num_labels
        and not name.startswith(inner)
    ]
    if not heads:
        raise UserError(f"stance model {base!r} has no classification head to train")
    return str(heads[-1])


def accuracy(
    model: Any, arguments: Sequence[Argument], *, text: bool = True
) -> dict[str, float | None]:
    """Return how often the model finds the attacked claim: overall, and by which claim is original.

    Equal scores count half.
    """
    texts = [one.text if text else "" for one in arguments]
    attacked = supports(model, list(zip(texts, (one.attacks for one in arguments), strict=True)))
    supported = supports(model, list(zip(texts, (one.supports for one in arguments), strict=True)))
    right = (np.sign(supported - attacked) + 1) / 2
    origins = np.array([one.original for one in arguments])
    return {ALL: _mean(right), **{name: _mean(right[origins == name]) for name in ORIGINS}}


def _mean(right: Any) -> float | None:
    return round(float(right.mean()), 4) if len(right) else None


def _base(job: Job[StanceRecipe]) -> tuple[Any, Initialised]:
    """Return the base model with one row, always the same, in full precision."""
    import torch

    torch.manual_seed(job.recipe.seed)
    model = cross_encoder(job.base).float()
    return model, one_row(model.model, job.recipe.base)


def _fit(model: Any, job: Job[StanceRecipe], *, text: bool = True) -> int:
    """Train a cross-encoder in place, with or without texts, and return the number of steps."""
    network, recipe = model.model, job.recipe
    parts = trainable(network, recipe.layers)
    if recipe.layers:  # the pooler and the head are always trained
        prefix = network.base_model_prefix
        above = [module for name, module in network.named_children() if name != prefix]
        pooler = getattr(getattr(network, prefix, None), "pooler", None)
        above += [] if pooler is None else [pooler]
        for part in above:
            part.requires_grad_(True)
        parts = [*parts, *above]
    return job.fit(
        network,
        parts,
        lambda seed: batches(job.arguments, recipe.batch, seed),
        lambda batch, _: loss(model, batch, recipe, text=text),
    )


def _train(job: Job[StanceRecipe]) -> Trained:
    """Train two models, with and without the texts; measure the base and both."""
    out = job.held_out
    model, initialised = _base(job)
    measured = {"before": accuracy(model, out)}
    steps = _fit(model, _half_of(job, 0, job.folder))
    measured["after"] = accuracy(model, out)
    blind, _ = _base(job)
    # The baseline without texts has its own checkpoints; they are deleted at the end.
    folder = Folder(job.folder.checkpoints / "claim_only")
    folder.root.mkdir(parents=True, exist_ok=True)
    _fit(blind, _half_of(job, 1, folder), text=False)
    measured["claim_only"] = accuracy(blind, out, text=False)
    overall = {name: row[ALL] for name, row in measured.items()}
    origins = {one: {name: row[one] for name, row in measured.items()} for one in ORIGINS}
    return Trained(model, steps, {"begun": initialised, **overall, "by_origin": origins})


def _half_of(job: Job[StanceRecipe], number: int, folder: Folder) -> Job[StanceRecipe]:
    """Return one of two trainings, which reports its progress as a part of both."""

    def progress(step: int, steps: int) -> None:
        if job.progress is not None:
            job.progress(number * steps + step, 2 * steps)

    return replace(job, folder=folder, progress=progress)


train_stance: Final = CollectionTrainer(
    method="stance",
    recipe=StanceRecipe,
    usable=usable,
    train=_train,
    report=StanceReport,
    card=__package__,
)
