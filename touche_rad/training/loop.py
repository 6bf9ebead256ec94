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

_STATE: Final = "state.pt"
_WARMUP: Final = 0.1
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
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=recipe.rate)
    epochs = [list(batches(f"{recipe.seed} {epoch}")) for epoch in range(recipe.epochs)]
    order = [batch for epoch in epochs for batch in epoch]
    steps = len(order)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate_at(step, steps))
    state = (model, optimizer, schedule)
    start = _restore(folder, state)
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
            _save(folder, step, state)
        if progress is not None:
            progress(step, steps)
    model.eval()
    return steps


def _rate_at(step: int, steps: int) -> float:
    """Return the learning rate's factor: linear warm-up, then linear decay to 0."""
    return min(1.0, (step + 1) / max(1.0, _WARMUP * steps)) * max(0.0, 1 - step / steps)


def _save(folder: TrainingFolder, step: int, state: Sequence[Any]) -> None:
    import torch

    folder.checkpoints.mkdir(parents=True, exist_ok=True)
    fresh = folder.checkpoints / f"{_STATE}.new"
    torch.save([step, *(one.state_dict() for one in state)], fresh)
    fresh.replace(folder.checkpoints / _STATE)


def _restore(folder: TrainingFolder, state: Sequence[Any]) -> int:
    """Load the last checkpoint, if there is one, and return its step."""
    import torch

    path = folder.checkpoints / _STATE
    if not path.is_file():
        return 0
    step, *saved = torch.load(path, map_location="cpu", weights_only=True)
    for one, values in zip(state, saved, strict=True):
        one.load_state_dict(values)
    return int(step)
