"""The training loop our own trainers share: settings, learning rate, frozen layers, checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from touche_rad.errors import UserError
from touche_rad.training.folder import MARK, Folder, steps_of
from touche_rad.training.metrics import Metrics

Count = Annotated[int, Field(ge=1)]
Layers = Annotated[int, Field(ge=0)]
"""How many layers learn, from the top; 0: all of the model."""
Positive = Annotated[float, Field(gt=0)]

Precision = Literal["auto", "float32", "bfloat16"]
"""`bfloat16` is half the work where processor or card can; `auto` takes it on a card alone, so that
one command learns the same on every processor, up to rounding."""
QUICKER: Final = "--precision bfloat16 is quicker on this processor; auto takes it on a card alone"


class Opening(BaseModel):
    """The settings that a recipe begins with."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    base: str
    epochs: Count
    rate: Positive
    """The learning rate at its highest."""
    batch: Count
    """Arguments a step."""


class Closing(BaseModel):
    """The settings that a recipe ends with."""

    if TYPE_CHECKING:  # what every recipe has of its `Opening`
        base: str
        rate: float = 0.0

    longest: int = Field(160, ge=8)
    """The most tokens that the model is given at once while it is trained."""
    precision: Precision = "auto"
    save_every: Count = 50
    """Steps between checkpoints."""
    seed: int = 0
    """What chance begins with."""

    @property
    def halved(self) -> bool:
        """Whether the network computes in bfloat16."""
        import torch

        return self.precision == "bfloat16" or (
            self.precision == "auto" and torch.cuda.is_available()
        )

    @property
    def advice(self) -> str | None:
        """What a person may want to know before the training begins."""
        return QUICKER if self.precision == "auto" and _slower_whole() else None


def _slower_whole() -> bool:
    """Whether there is no card, and the processor has instructions for bfloat16.

    A torch that is not there, or that cannot be asked, is nothing to give advice about.
    """
    try:
        import torch
    except ImportError:
        return False
    asked = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    has = any(getattr(torch.cpu, name, bool)() for name in asked)
    return has and not torch.cuda.is_available()


Part = TypeVar("Part")

_STATE: Final = "state.pt"
_KEPT: Final = 2
_WARMUP: Final = 0.1


def thawed(model: Any, layers: int) -> list[Any]:
    """Return the parts that learn: the top layers, or the whole model; the rest stays as it is."""
    from torch.nn import ModuleList

    if not layers:
        return [model]
    stacks = [
        one
        for name, one in model.named_modules()
        if name.endswith(("layer", "layers")) and isinstance(one, ModuleList)
    ]
    if not stacks:
        raise UserError("the model has no layers that can be trained apart: say --layers 0")
    tops = list(stacks[0][-layers:])
    model.requires_grad_(False)
    for one in tops:
        one.requires_grad_(True)
    return tops


def rate_at(step: int, steps: int) -> float:
    """Return the share of the learning rate: it grows over a tenth of the steps, then falls."""
    return min(1.0, (step + 1) / max(1.0, _WARMUP * steps)) * max(0.0, 1 - step / steps)


def keep(folder: Folder, step: int, *parts: Any) -> None:
    """Write a checkpoint of all that a step changes; the last two are kept."""
    import torch

    place = folder.checkpoints / f"checkpoint-{step}"
    place.mkdir(parents=True, exist_ok=True)
    torch.save([one.state_dict() for one in parts], place / _STATE)
    (place / MARK).touch()
    whole = sorted(folder.checkpoints.glob("checkpoint-*"), key=steps_of)
    for old in whole[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def resumed(folder: Folder, *parts: Any) -> int:
    """Bring all back to the last checkpoint; return how many steps that is from the beginning."""
    import torch

    checkpoint: Path | None = folder.last_checkpoint()
    if checkpoint is not None:
        kept = torch.load(checkpoint / _STATE, map_location="cpu", weights_only=True)
        for part, state in zip(parts, kept, strict=True):
            part.load_state_dict(state)
    return steps_of(checkpoint)


def descend(
    model: Any,
    parts: Sequence[Any],
    plan: Sequence[Part],
    loss: Callable[[Part, int], Any],
    recipe: Closing,
    folder: Folder,
    report: Callable[[int, int], None] | None,
) -> None:
    """Let parts of a model learn in place, a step for each item of the plan."""
    import torch

    torch.manual_seed(recipe.seed)
    learnt = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learnt, lr=recipe.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(step, len(plan)))
    begun = resumed(folder, model, optimizer, schedule)
    metrics = Metrics(folder.metrics, from_step=begun)
    # What does not learn has no dropout either: its answers stay what they were.
    model.eval()
    for one in parts:
        one.train()
    for step, part in enumerate(plan[begun:], begun + 1):
        # Dropout differs from step to step, and not from one run to the next.
        torch.manual_seed(recipe.seed + step)
        found = loss(part, step)
        optimizer.zero_grad()
        found.backward()
        torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        optimizer.step()
        schedule.step()
        metrics.note(step, {"loss": float(found.detach())})
        if step % recipe.save_every == 0 or step == len(plan):
            keep(folder, step, model, optimizer, schedule)
        if report is not None:
            report(step, len(plan))
    model.eval()
