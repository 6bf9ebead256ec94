"""The training loop of `train encoder`.

The trainer of sentence-transformers would need our own loss, sampler and collator as well (false
negatives, batches by topic), and accelerate and datasets in the extra `dense`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from touche_rad.errors import UserError
from touche_rad.files.records import write_text
from touche_rad.training.folder import TrainingFolder
from touche_rad.training.recipe import Recipe

Batch = TypeVar("Batch")

_STATE_FILE: Final = "state.pt"
_SHARE_OF_WARMUP: Final = 0.1
"""Share of the steps over which the learning rate grows."""


def trainable(model: Any, layers: int) -> list[Any]:
    """Freeze all but the top layers (0: freeze nothing) and return the parts that are trained."""
    from torch.nn import ModuleList

    if not layers:
        return [model]
    stacks = [
        module
        for name, module in model.named_modules()
        if name.endswith(("layer", "layers")) and isinstance(module, ModuleList)
    ]
    if not stacks:
        raise UserError("cannot find the model's layers: train the whole model with --layers 0")
    top = list(stacks[0][-layers:])
    model.requires_grad_(False)
    for layer in top:
        layer.requires_grad_(True)
    return top


def fit(
    model: Any,
    parts: Sequence[Any],
    batches: Callable[[str], Iterable[Batch]],
    loss: Callable[[Batch, int], Any],
    recipe: Recipe,
    folder: TrainingFolder,
    progress: Callable[[int, int], None] | None,
) -> int:
    """Train parts of a model in place, continuing from the last checkpoint; return the steps.

    `batches` returns the batches of an epoch for a random seed.
    """
    import torch

    torch.manual_seed(recipe.seed)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=recipe.rate)
    order: list[Batch] = []
    for epoch in range(recipe.epochs):
        order += batches(f"{recipe.seed} {epoch}")
    steps = len(order)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate_at(step, steps))
    state = (model, optimizer, schedule)

    # Continue from the last checkpoint, if there is one.
    checkpoint = folder.checkpoints / _STATE_FILE
    start = 0
    if checkpoint.is_file():
        start, *saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
        for trained_part, values in zip(state, saved, strict=True):
            trained_part.load_state_dict(values)
    metrics = folder.metrics
    lines = metrics.read_text("utf-8").splitlines() if metrics.is_file() else []
    # The rows of later steps are written again.
    write_text(metrics, "".join(f"{line}\n" for line in lines[:start]))
    # No dropout in frozen parts: their outputs do not change during training.
    model.eval()
    for part in parts:
        part.train()
    for step, batch in enumerate(order[start:], start + 1):
        # One seed per step: dropout is the same after a resume.
        torch.manual_seed(recipe.seed + step)
        value = loss(batch, step)
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        with metrics.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"loss": float(value.detach()), "step": step}) + "\n")
        if step % recipe.save_every == 0 or step == steps:
            folder.checkpoints.mkdir(parents=True, exist_ok=True)
            new = folder.checkpoints / f"{_STATE_FILE}.new"
            torch.save([step, *(part.state_dict() for part in state)], new)
            new.replace(checkpoint)
        if progress is not None:
            progress(step, steps)
    model.eval()
    return steps


def _rate_at(step: int, steps: int) -> float:
    """Return the learning rate's factor: linear warm-up, then linear decay to 0."""
    return min(1.0, (step + 1) / max(1.0, _SHARE_OF_WARMUP * steps)) * max(0.0, 1 - step / steps)
