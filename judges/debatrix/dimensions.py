"""The dimensions of a panel: what each looks at, and how much it weighs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from touche_rad.errors import OptionError, nearest

GENERAL = "general"


@dataclass(frozen=True)
class Dimension:
    """One column's preference."""

    name: str
    weight: float
    tie_margin: int
    looks_at: str
    decides: str


@cache
def known() -> Mapping[str, Dimension]:
    """Return the dimensions of our file by name."""
    told = tomllib.loads(files(__package__).joinpath("dimensions.toml").read_text("utf-8"))
    return {
        name: Dimension(
            name, one["weight"], one["tie_margin"], _flat(one["looks_at"]), _flat(one["decides"])
        )
        for name, one in told.items()
    }


def _flat(text: str) -> str:
    return " ".join(text.split())


def chosen(said: str) -> tuple[Dimension, ...]:
    """Return the dimensions that an option names, as `argument,source=2`; weight 0 leaves one out.

    Raises:
        OptionError: One is unknown, named twice, or has no good weight.
    """
    found: dict[str, Dimension] = {}
    for part in filter(None, (part.strip() for part in said.split(","))):
        name, _, weight = (piece.strip() for piece in part.partition("="))
        if name not in known():
            raise OptionError(f"dimensions: there is no {name!r}{nearest(name, list(known()))}")
        if name in found:
            raise OptionError(f"dimensions: {name} is there twice")
        found[name] = _weighing(known()[name], weight)
    kept = tuple(one for one in found.values() if one.weight > 0)
    if not kept:
        raise OptionError("dimensions: expected at least one with a weight above 0")
    return kept


def _weighing(dimension: Dimension, weight: str) -> Dimension:
    if not weight:
        return dimension
    try:
        number = float(weight)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise OptionError(f"dimensions: {dimension.name}={weight}: expected a number of 0 or more")
    return Dimension(
        dimension.name, number, dimension.tie_margin, dimension.looks_at, dimension.decides
    )
