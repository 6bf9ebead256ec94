"""The base of records that are made of files and results, and ranges that many fields have."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

UpTo9 = Annotated[int, Field(ge=1, le=9)]
UpTo20 = Annotated[int, Field(ge=1, le=20)]
UpTo1000 = Annotated[int, Field(ge=1, le=1_000)]
WordLimit = Annotated[int, Field(ge=5, le=1_000)]
"""Maximum words of a response, which has at least a short sentence."""
Share = Annotated[float, Field(ge=0, le=1)]


class FrozenRecord(BaseModel):
    """A frozen record; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")
