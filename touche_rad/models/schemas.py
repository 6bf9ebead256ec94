"""Bounds that a server is told and an answer is not refused for.

A weak model that is held to a schema may write on in a text, or a number, until its tokens are
spent; a bound in the schema ends it. Where a server keeps to no schema, a few words too many are no
fault.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

Line = Annotated[str, Field(json_schema_extra={"maxLength": 200})]
"""A reason or a name: a sentence at most."""
Paragraph = Annotated[str, Field(json_schema_extra={"maxLength": 600})]
"""What is said in one turn."""
Page = Annotated[str, Field(json_schema_extra={"maxLength": 2_000})]
"""A text that is quoted whole, or a longer comment."""

_NUMBERS: Final = {"integer", "number"}
_LOWEST: Final = ("minimum", "exclusiveMinimum")
_HIGHEST: Final = ("maximum", "exclusiveMaximum")
_LIMIT: Final = 999_999
"""Larger than any number of an argument, a round or points that a prompt speaks of."""


def bounded_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """Return the schema that a server is told: every number has an end on either side."""
    bounded: dict[str, Any] = _with_ends(schema.model_json_schema())
    return bounded


def _with_ends(part: Any) -> Any:
    if isinstance(part, list):
        return [_with_ends(item) for item in part]
    if not isinstance(part, dict):
        return part
    whole = {name: _with_ends(item) for name, item in part.items()}
    kind = whole.get("type")
    if isinstance(kind, str) and kind in _NUMBERS:
        if not any(name in whole for name in _LOWEST):
            whole["minimum"] = -_LIMIT
        if not any(name in whole for name in _HIGHEST):
            whole["maximum"] = _LIMIT
    return whole
