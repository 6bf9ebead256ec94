"""The dimensions of a panel: what each examines, and its weight."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final

from touche_rad.errors import OptionError, nearest

GENERAL: Final = "general"


@dataclass(frozen=True)
class Dimension:
    """One dimension; `looks_at` and `decides` are its parts of the prompts."""

    name: str
    weight: float
    tie_margin: int
    looks_at: str
    decides: str


@cache
def dimensions() -> Mapping[str, Dimension]:
    """Return the dimensions of dimensions.toml by name."""
    data = tomllib.loads(files(__package__).joinpath("dimensions.toml").read_text("utf-8"))
    return {
        name: Dimension(
            name, one["weight"], one["tie_margin"], " ".join(one["looks_at"].split()),
            " ".join(one["decides"].split()),
        )
        for name, one in data.items()
    }  # fmt: skip


def parse_dimensions(text: str) -> tuple[Dimension, ...]:
    """Return the dimensions in an option such as `argument,source=2`; weight 0 leaves one out.

    Raises:
        OptionError: A dimension is unknown or given twice, or has an invalid weight.
    """
    found: dict[str, Dimension] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, weight = (piece.strip() for piece in part.partition("="))
        if name not in dimensions():
            hint = nearest(name, list(dimensions()))
            raise OptionError(f"dimensions: there is no {name!r}{hint}")
        if name in found:
            raise OptionError(f"dimensions: {name} is given twice")
        found[name] = dimensions()[name]
        if weight:
            found[name] = replace(found[name], weight=_weight(name, weight))
    kept = tuple(one for one in found.values() if one.weight > 0)
    if not kept:
        raise OptionError("dimensions: expected at least one with a weight above 0")
    return kept


def _weight(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise OptionError(f"dimensions: {name}={text}: expected a number of 0 or more")
    return number
