"""The base of records that are made of files and results, and ranges that many fields have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BaseModel, Field

UpTo9 = Annotated[int, Field(ge=1, le=9)]
UpTo20 = Annotated[int, Field(ge=1, le=20)]
UpTo1000 = Annotated[int, Field(ge=1, le=1_000)]
WordLimit = Annotated[int, Field(ge=5, le=1_000)]
"""Maximum words of a response, which has at least a short sentence."""
Share = Annotated[float, Field(ge=0, le=1)]


class BaseRecord(BaseModel):
    """A record of which copies are made."""

    if TYPE_CHECKING:

        def replace(self, **fields: object) -> Self:
            """Return a copy with other values of these fields."""
            raise NotImplementedError
    else:
        replace = BaseModel.__replace__  # which pydantic hides from type checkers


class FrozenRecord(BaseRecord, frozen=True, extra="forbid"):
    """A frozen record; unknown fields are errors."""
