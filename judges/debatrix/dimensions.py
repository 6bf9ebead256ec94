"""The dimensions of a panel: what each examines, how it decides, and its weight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from touche_rad.errors import OptionError, nearest
from touche_rad.frozen import frozen
from touche_rad.text import packaged_table

GENERAL: Final = "general"
AUTO: Final = "auto"
DEBATE: Final = "argument,source,language"
COMPETITION: Final = "argument=1,source=1,language=1,clash=1"
"""For more than two debaters: the paper splits clash off argument so that all are balanced."""


@frozen
class DebateDimension:
    """One dimension; its texts are parts of the prompts."""

    name: str
    weight: float
    tie_margin: int
    looks_at: str
    decides: str
    looks_at_clash: str = ""
    """Added to `looks_at` if no dimension of its own examines the clash."""
    decides_clash: str = ""
    ties: str = ""
    """Added to `decides` if ties are allowed."""
    no_ties: str = ""
    """Added to `decides` if ties are not allowed."""


@cache
def dimensions() -> Mapping[str, DebateDimension]:
    """Return the dimensions of dimensions.toml by name."""
    data = packaged_table(__package__, "dimensions.toml")
    by_name = {}
    for name, table in data.items():
        # A text of several lines in the file is one line in a prompt.
        fields: dict[str, Any] = {
            key: " ".join(value.split()) if isinstance(value, str) else value
            for key, value in table.items()
        }
        by_name[name] = DebateDimension(name=name, **fields)
    return by_name


def parse_dimensions(text: str, *, teams: bool = False) -> list[DebateDimension]:
    """Return the dimensions in an option such as `argument,source=2`; weight 0 leaves one out.

    `auto` stands for the paper's dimensions, which depend on whether more than two debaters
    (`teams`) compete.
    """
    if text.strip() == AUTO:
        text = COMPETITION if teams else DEBATE
    selected: dict[str, DebateDimension] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, weight = (piece.strip() for piece in part.partition("="))
        if name not in dimensions():
            raise OptionError(f"dimensions: there is no {name!r}{nearest(name, dimensions())}")
        if name in selected:
            raise OptionError(f"dimensions: {name} is given twice")
        selected[name] = dimensions()[name]
        if weight:
            try:
                number = float(weight)
            except ValueError:
                number = -1.0
            if not 0 <= number < math.inf:
                raise OptionError(f"dimensions: {part}: expected a number of 0 or more")
            selected[name] = replace(selected[name], weight=number)
    weighted = [dimension for dimension in selected.values() if dimension.weight > 0]
    if not weighted:
        raise OptionError("dimensions: expected at least one with a weight above 0")
    if any(dimension.name == "clash" for dimension in weighted):
        return weighted
    # Without a dimension of its own, the clash is examined by `argument`.
    return [
        replace(
            dimension,
            looks_at=f"{dimension.looks_at} {dimension.looks_at_clash}".strip(),
            decides=f"{dimension.decides_clash} {dimension.decides}".strip(),
        )
        for dimension in weighted
    ]
