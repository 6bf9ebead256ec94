"""The settings of a training."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Precision = Literal["auto", "float32", "bfloat16", "float16"]


class AdapterRecipe(BaseModel):
    """The settings of a training; the defaults are the paper's, as far as it names them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    base: str
    """The base model, whose weights do not change: a folder, or OWNER/NAME of the hub."""
    adapter: str = ""
    """An adapter to train further; for DPO it is also the reference."""
    epochs: float = Field(3, gt=0)
    rate: float = Field(1e-5, gt=0)
    batch: int = Field(4, ge=1)
    accumulate: int = Field(1, ge=1)
    warmup: float = Field(0.0, ge=0, lt=1)
    """Share of the steps in which the learning rate grows."""
    rank: int = Field(16, ge=1)
    alpha: int = Field(32, ge=1)
    dropout: float = Field(0.05, ge=0, lt=1)
    targets: str = "all-linear"
    """The layers with an adapter: `all-linear`, or comma-separated names."""
    longest: int = Field(4_096, ge=16)
    """Maximum tokens of a prompt with its answer; longer records are skipped."""
    beta: float = Field(0.1, gt=0)
    """DPO's weight of the reference; the paper's formula has none, which is 1."""
    held_out: float = Field(0.1, ge=0, lt=1)
    save_every: int = Field(50, ge=1)
    """Steps between checkpoints."""
    seed: int = 0
    precision: Precision = "auto"
    checkpointing: bool = False
    """Whether to compute activations twice, which needs less memory."""

    @field_validator("base", "adapter")
    @classmethod
    def _absolute(cls, given: str) -> str:
        """Make the path of a folder absolute, so that a training can be resumed from anywhere."""
        place = Path(given).expanduser()
        return str(place.absolute()) if given and place.is_dir() else given

    def layers(self) -> str | list[str]:
        """Return the layers in the format of PEFT."""
        names = [name.strip() for name in self.targets.split(",") if name.strip()]
        return names[0] if names == ["all-linear"] else names
