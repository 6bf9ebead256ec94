"""The settings that the recipes of our own training loops share, each with its own defaults.

Pydantic tells those of the last base class first: a recipe is a `class Recipe(Closing, Own)`, and
its `Own` an `Opening`. So training.json, report and card have the settings in one order.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1)]
Layers = Annotated[int, Field(ge=0)]
"""How many layers learn, from the top; 0: all of the model."""
Positive = Annotated[float, Field(gt=0)]

Precision = Literal["auto", "float32", "bfloat16"]
"""`bfloat16` is half the work where processor or card can; `auto` takes it on a card."""


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
