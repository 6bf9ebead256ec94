"""The trainer `stance`: a cross-encoder that predicts which claim an argument attacks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import numpy as np

from retrieval._training import CollectionTrainer, Job, Trained
from retrieval.dense.encoders import encodable
from retrieval.stance.nli import cross_encoder, rows_of
from retrieval.stance.trained import StanceReport, supports
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.training.loop import fit, trainable
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
        window = order[start : start + size * _WINDOW]
        window.sort(key=lambda one: len(one.text) + max(len(one.supports), len(one.attacks)))
        parts += [window[at : at + size] for at in range(0, len(window), size)]
    random_order.shuffle(parts)
    yield from parts


def loss(model: Any, batch: Sequence[Argument], recipe: StanceRecipe) -> Any:
    """Return the pairwise ranking loss: a supported claim should score above an attacked one."""
    import torch

    network = model.model
    texts = [encodable(one.text) for one in batch]
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
        rows = rows_of(network.config.id2label)
        initialised = "chance" if rows is None else "NLI"
        row = torch.nn.Linear(old.in_features, 1, bias=old.bias is not None).to(old.weight)
        with torch.no_grad():
            if rows is None:
                row.weight.normal_(0.0, getattr(network.config, "initializer_range", _SPREAD))
            else:
                row.weight.copy_(old.weight[rows.entailment] - old.weight[rows.opposite])
            if row.bias is not None:
                bias = 0.0 if rows is None else old.bias[rows.entailment] - old.bias[rows.opposite]
                row.bias.fill_(bias)
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


def _parts(network: Any, layers: int) -> list[Any]:
    """Return the trained parts: the top layers, and always the pooler and the head."""
    parts = trainable(network, layers)
    if layers:
        prefix = network.base_model_prefix
        above = [module for name, module in network.named_children() if name != prefix]
        pooler = getattr(getattr(network, prefix, None), "pooler", None)
        above += [] if pooler is None else [pooler]
        for part in above:
            part.requires_grad_(True)
        parts = [*parts, *above]
    return parts


def _train(job: Job[StanceRecipe]) -> Trained:
    """Train the base in full precision; measure before, after, and after without the texts."""
    import torch

    recipe = job.recipe
    torch.manual_seed(recipe.seed)
    model = cross_encoder(job.base).float()
    initialised = one_row(model.model, recipe.base)
    measured = {"before": accuracy(model, job.held_out)}
    steps = fit(
        model.model,
        _parts(model.model, recipe.layers),
        lambda seed: batches(job.arguments, recipe.batch, seed),
        lambda batch, _: loss(model, batch, recipe),
        recipe,
        job.folder,
        job.progress,
    )
    measured["after"] = accuracy(model, job.held_out)
    measured["claim_only"] = accuracy(model, job.held_out, text=False)
    overall = {name: row[ALL] for name, row in measured.items()}
    origins = {one: {name: row[one] for name, row in measured.items()} for one in ORIGINS}
    return Trained(model, steps, {"begun": initialised, **overall, "by_origin": origins})


train_stance: Final = CollectionTrainer(
    method="stance",
    recipe=StanceRecipe,
    usable=usable,
    train=_train,
    report=StanceReport,
    card=__package__,
)
