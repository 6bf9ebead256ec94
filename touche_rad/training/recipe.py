"""The recipe of a training: its validated settings."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from touche_rad.errors import OptionError, UserError

Count = Annotated[int, Field(ge=1)]
Layers = Annotated[int, Field(ge=0)]
"""Number of trained layers, counted from the top; 0 trains the whole model."""
Positive = Annotated[float, Field(gt=0)]

Precision = Literal["auto", "float32", "bfloat16"]
"""`bfloat16` halves the work where the processor or GPU supports it. `auto` uses it on a GPU only,
so that one command gives the same model on every processor, up to rounding."""

M = TypeVar("M", bound=BaseModel)


class Recipe(BaseModel):
    """The settings of the training loop."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    base: str
    epochs: Count
    rate: Positive
    """The highest learning rate."""
    batch: Count
    """Arguments per step."""
    longest: int = Field(160, ge=8)
    """Maximum number of tokens per input during training; longer inputs are truncated."""
    precision: Precision = "auto"
    save_every: Count = 50
    """Steps between checkpoints."""
    seed: int = 0

    @property
    def half_precision(self) -> bool:
        """Whether the network computes in bfloat16."""
        import torch

        return self.precision == "bfloat16" or (
            self.precision == "auto" and torch.cuda.is_available()
        )


def check_packages() -> None:
    """Raise an error if a package of the extra `train` is missing; nothing is imported."""
    for name in ("datasets", "peft", "trl"):
        if find_spec(name) is None:
            raise UserError(
                f"training needs the extra train (pip install 'touche-rad[train]'): {name}"
            )


def validate_recipe(kind: type[M], options: Mapping[str, Any]) -> M:
    """Build a recipe from command line options; an error names the wrong option."""
    values = {name: options[name] for name in kind.model_fields if options.get(name) is not None}
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).replace("_", "-")
        raise OptionError(f"--{name}: {first['msg'].lower()}") from None
