"""What the prompts tell of schemes and dimensions, and the worked exemplars."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from touche_rad.schemes.vocabulary import Dimension, Scheme

Exemplars = Literal["levels", "pairs", "both"]
"""One exemplar a label, or two good ones and two bad ones, or all of them."""


class Block(BaseModel):
    """A scheme or a dimension as a prompt explains it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    definition: str
    scenario: str
    example: str
    process: str
    sample: str


class Exemplar(BaseModel):
    """A text with its labels, in the order of the dimensions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    set: Exemplars
    kind: str
    scheme: Scheme
    text: str
    labels: tuple[str, str, str, str]

    @property
    def told(self) -> str:
        """The labels as a line."""
        return ", ".join(
            f"{dimension.value}: {label}"
            for dimension, label in zip(Dimension, self.labels, strict=True)
        )


@cache
def schemes() -> dict[Scheme, Block]:
    """Return the block of each scheme."""
    told = _read("schemes.toml")
    return {scheme: Block.model_validate(told[scheme.name.lower()]) for scheme in Scheme}


@cache
def dimensions() -> dict[Dimension, Block]:
    """Return the block of each dimension."""
    told = _read("dimensions.toml")
    return {one: Block.model_validate(told[one.name.lower()]) for one in Dimension}


@cache
def exemplars(wanted: Exemplars) -> tuple[Exemplar, ...]:
    """Return the exemplars of a set."""
    told = [Exemplar.model_validate(one) for one in _read("exemplars.toml")["exemplar"]]
    return tuple(one for one in told if wanted in (one.set, "both"))


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))
