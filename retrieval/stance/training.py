"""The trainer `stance`: a model that predicts which claim an argument attacks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from retrieval.stance.nli import cross_encoder, encodable
from retrieval.stance.trained import (
    ALL,
    ORIGINS,
    Begun,
    Report,
    beside_the_layers,
    measured,
    one_row,
)
from touche_rad.debate import Argument
from touche_rad.training.collection import Course, Lesson, Taught
from touche_rad.training.folder import Folder
from touche_rad.training.loop import Closing, Count, Layers, Opening, Positive, descend, thawed

_WINDOW: Final = 16
"""So many batches are sorted by length together: padding is most of the work otherwise."""


class _Chosen(Opening):
    epochs: Count = 3
    rate: Positive = 5e-5
    batch: Count = 16
    """Arguments a step, each with both of its claims."""
    layers: Layers = 0
    """How many layers learn, from the top, with the head; 0: the whole model."""


class Recipe(Closing, _Chosen):
    """All that decides what training makes of its data."""


def usable(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that have a text and both claims."""
    return [
        one
        for one in arguments
        if one.text.strip() and one.attacks.strip() and one.supports.strip()
    ]


def batches(arguments: Sequence[Argument], size: int, seed: str) -> Iterator[list[Argument]]:
    """Yield the arguments by batches of like length, in an order of the seed's."""
    chance = random.Random(seed)
    order = chance.sample(arguments, len(arguments))
    found = []
    for start in range(0, len(order), size * _WINDOW):
        near = sorted(order[start : start + size * _WINDOW], key=_length)
        found += [near[at : at + size] for at in range(0, len(near), size)]
    chance.shuffle(found)
    yield from found


def learn(model: Any, lesson: Lesson[Recipe], *, text: bool = True) -> int:
    """Train a cross-encoder of one row in place; return how many steps that was.

    Without `text` it learns from the claims alone.
    """
    network, recipe = model.model, lesson.recipe
    parts = thawed(network, recipe.layers)
    if recipe.layers:
        tops = beside_the_layers(network)
        for one in tops:
            one.requires_grad_(True)
        parts = [*parts, *tops]
    plan = [
        part
        for epoch in range(recipe.epochs)
        for part in batches(lesson.learnt, recipe.batch, f"{recipe.seed} {epoch}")
    ]
    descend(
        network, parts, plan, lambda part, _: loss(model, part, recipe, text=text), recipe,
        lesson.folder, lesson.report,
    )  # fmt: skip
    return len(plan)


def loss(model: Any, part: Sequence[Argument], recipe: Recipe, *, text: bool) -> Any:
    """Return how far each text's supported claim is from scoring above its attacked one."""
    import torch

    network = model.model
    said = [encodable(one.text) if text else "" for one in part]
    supported = [encodable(one.supports) for one in part]
    attacked = [encodable(one.attacks) for one in part]
    batch = model.tokenizer(
        [*said, *said], [*supported, *attacked], padding=True, truncation=True,
        max_length=recipe.longest, return_tensors="pt",
    ).to(network.device)  # fmt: skip
    with torch.autocast(network.device.type, torch.bfloat16, enabled=recipe.halved):
        scores = network(**batch).logits.float().reshape(2, -1)
    return -torch.nn.functional.logsigmoid(scores[0] - scores[1]).mean()


def _length(one: Argument) -> int:
    return len(one.text) + max(len(one.supports), len(one.attacks))


def _taught(lesson: Lesson[Recipe]) -> Taught:
    """Train with the text and without, and measure before and after."""
    out = lesson.held_out
    model, begun = _base(lesson)
    known = {"before": lesson.before(lambda: measured(model, out))}
    steps = learn(model, _part(lesson, 0))
    known["after"] = measured(model, out)
    blind, _ = _base(lesson)
    learn(blind, _without_text(_part(lesson, 1)), text=False)
    known["claim_only"] = measured(blind, out, text=False)
    told = {name: row[ALL] for name, row in known.items()}
    origins = {one: {name: row[one] for name, row in known.items()} for one in ORIGINS}
    return Taught(model, steps, {"begun": begun, **told, "by_origin": origins})


def _base(lesson: Lesson[Recipe]) -> tuple[Any, Begun]:
    """Return the base with one row, the same each time, in whole precision to learn."""
    import torch

    torch.manual_seed(lesson.recipe.seed)
    model = cross_encoder(lesson.place).float()
    return model, one_row(model.model, lesson.recipe.base)


def _without_text(lesson: Lesson[Recipe]) -> Lesson[Recipe]:
    """Let the model of the claims alone have checkpoints elsewhere; nothing of it is kept."""
    found = Folder(lesson.folder.checkpoints / "claim_only")
    found.root.mkdir(parents=True, exist_ok=True)
    return replace(lesson, folder=found)


def _part(lesson: Lesson[Recipe], number: int) -> Lesson[Recipe]:
    """Report the steps of the one or the other of two trainings as those of both."""
    report = lesson.report
    if report is None:
        return lesson
    return replace(lesson, report=lambda step, steps: report(number * steps + step, 2 * steps))


train_stance: Final = Course(
    method="stance", recipe=Recipe, usable=usable, teach=_taught, report=Report, card=__package__
)
