"""The loop in which an encoder learns: multiple negatives ranking, with checkpoints.

The order of batches hangs on the seed and the epoch alone, so that a killed training goes on where
it was and sees what it would have seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic import Field

from retrieval.course import Lesson
from retrieval.dense.tuning.batches import asked, batches, left_out, passages
from retrieval.dense.tuning.frozen import below
from retrieval.dense.tuning.network import Network
from touche_rad.debate import Argument
from touche_rad.training.descent import descend, thawed
from touche_rad.training.settings import Closing, Count, Layers, Opening, Positive

_NEVER: Final = -1e4


class _Chosen(Opening):
    epochs: Count = 4
    rate: Positive = 2e-4
    batch: int = Field(64, ge=2)
    """Arguments a step; each is a wrong answer to the others' claims."""
    group: Count = 8
    """Arguments of a topic that are kept together in a batch."""
    layers: Layers = 2
    """How many of the encoder's layers learn, from the top; 0: the whole encoder."""
    scale: Positive = 20.0
    """What cosines are multiplied by before they are compared."""


class Recipe(Closing, _Chosen):
    """All that decides what training makes of its data."""


def learn(model: Any, lesson: Lesson[Recipe]) -> int:
    """Train a sentence-transformers model in place; return how many steps that was."""
    recipe = lesson.recipe
    parts = thawed(model, recipe.layers)
    plan = [
        part
        for epoch in range(recipe.epochs)
        for part in batches(lesson.learnt, recipe.batch, recipe.group, f"{recipe.seed} {epoch}")
    ]
    model.eval()
    network = Network(model, recipe.longest, recipe.halved)
    network.keep(below(model, parts), _texts(plan), lesson.folder.root)
    descend(
        model, parts, plan, lambda part, step: loss(network, part, step, recipe), recipe,
        lesson.folder, lesson.report,
    )  # fmt: skip
    return len(plan)


def loss(network: Network, part: Sequence[Argument], step: int, recipe: Recipe) -> Any:
    """Return how far each claim's own argument is from being the nearest of the batch."""
    import torch

    questions = asked(part)
    found = network.encoded(passages(part, step))
    cosines = network.encoded([claim for claim, _ in questions]) @ found.T
    never = torch.tensor(left_out(part), device=cosines.device)
    scores = (recipe.scale * cosines).masked_fill(never, _NEVER)
    own = torch.tensor([place for _, place in questions], device=cosines.device)
    return torch.nn.functional.cross_entropy(scores, own)


def _texts(plan: Sequence[Sequence[Argument]]) -> Iterator[str]:
    """Yield all texts that a training encodes."""
    for step, part in enumerate(plan, 1):
        yield from passages(part, step)
        yield from (claim for claim, _ in asked(part))
