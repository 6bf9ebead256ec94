"""Bounds that a server is told and an answer is not refused for.

A weak model that is held to a schema may write on in a text until its tokens are spent; a bound in
the schema ends it. Where a server keeps to no schema, a few words too many are no fault.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Line = Annotated[str, Field(json_schema_extra={"maxLength": 200})]
"""A reason or a name: a sentence at most."""
Paragraph = Annotated[str, Field(json_schema_extra={"maxLength": 600})]
"""What is said in one turn."""
Page = Annotated[str, Field(json_schema_extra={"maxLength": 2_000})]
"""A text that is quoted whole, or a longer comment."""
