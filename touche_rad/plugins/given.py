"""What a plugin is made with: its options, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from touche_rad.errors import UserError
from touche_rad.models import Model
from touche_rad.plugins.index import ArgumentIndex


class Options(BaseModel):
    """Base of a plugin's typed options."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Services:
    """What a plugin may use besides the debate it is given."""

    index: ArgumentIndex | None = None
    seed: int = 0
    model: Model | None = None

    def need_model(self, who: str) -> Model:
        """Return the language model, or say how to give one."""
        if self.model is None:
            raise UserError(
                f"{who} needs a language model: give one with -m URL#MODEL, -m vllm:MODEL, or "
                "OPENAI_BASE_URL and OPENAI_MODEL in the environment"
            )
        return self.model

    def need_index(self, who: str) -> ArgumentIndex:
        """Return the index, or say how to give one."""
        if self.index is None:
            raise UserError(
                f"{who} needs an argument index: give one with -i DIR (touche-rad index)"
            )
        return self.index
