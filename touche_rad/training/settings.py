"""The settings that the recipes of our own training loops share, each with its own defaults.

Pydantic tells those of the last base class first: a recipe is a `class Recipe(Closing, Own)`, and
its `Own` an `Opening`. So training.json, report and card have the settings in one order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

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
