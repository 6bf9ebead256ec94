"""Small ways in which a model says a right thing otherwise, for servers that hold to no schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field


def _lowered(told: Any) -> Any:
    """`Pro` is pro, and JSON's true is "true"."""
    return str(told).strip().lower() if isinstance(told, (str, bool)) else told


def _share(told: Any) -> Any:
    """A percentage is a probability: what is above 1 can be nothing else."""
    try:
        value = float(str(told).strip().removesuffix("%"))
    except ValueError:
        return told
    return value / 100 if value > 1 or str(told).strip().endswith("%") else value


TrueOrFalse = Annotated[Literal["true", "false"], BeforeValidator(_lowered)]
ProOrCon = Annotated[Literal["pro", "con"], BeforeValidator(_lowered)]
ProConOrTie = Annotated[Literal["pro", "con", "tie"], BeforeValidator(_lowered)]
Confidence = Annotated[float, Field(ge=0, le=1), BeforeValidator(_share)]
"""How sure the model says it is."""
