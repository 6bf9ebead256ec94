"""How a model is trained: what the paper tells, and what it leaves open, each by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Precision = Literal["auto", "float32", "bfloat16", "float16"]


class Recipe(BaseModel):
    """All that decides what training makes of its data."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    base: str
    """The model whose weights stay: a folder, or OWNER/NAME of the hub."""
    adapter: str = ""
    """An adapter that training goes on from; of DPO it is the reference as well."""
    epochs: float = Field(3, gt=0)
    rate: float = Field(1e-5, gt=0)
    batch: int = Field(4, ge=1)
    accumulate: int = Field(1, ge=1)
    warmup: float = Field(0.0, ge=0, lt=1)
    """The share of the steps over which the rate grows."""
    rank: int = Field(16, ge=1)
    alpha: int = Field(32, ge=1)
    dropout: float = Field(0.05, ge=0, lt=1)
    targets: str = "all-linear"
    """Which layers get an adapter: `all-linear`, or names with commas between."""
    longest: int = Field(4_096, ge=16)
    """The most tokens of a prompt with its answer; longer ones are left out, never cut."""
    beta: float = Field(0.1, gt=0)
    """DPO's leash to the reference; the paper's formula has none, which is 1."""
    held_out: float = Field(0.1, ge=0, lt=1)
    save_every: int = Field(50, ge=1)
    """Steps between checkpoints."""
    seed: int = 0
    precision: Precision = "auto"
    checkpointing: bool = False
    """Whether activations are computed twice, which spares memory."""

    @field_validator("base", "adapter")
    @classmethod
    def _wherever_it_is_read(cls, given: str) -> str:
        """A folder is known by its whole path, since later trainings begin elsewhere."""
        place = Path(given).expanduser()
        return str(place.absolute()) if given and place.is_dir() else given

    def layers(self) -> str | list[str]:
        """Return the layers as peft takes them."""
        names = [name.strip() for name in self.targets.split(",") if name.strip()]
        return names[0] if names == ["all-linear"] else names

    def told(self) -> dict[str, Any]:
        """Return the recipe as it is kept and shown."""
        return self.model_dump()
