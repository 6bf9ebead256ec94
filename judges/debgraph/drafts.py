"""What a model is asked for when it reads a speech: arguments, relations, and why."""

from __future__ import annotations

from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from judges.debgraph.relations import Relation
from touche_rad.models.schemas import Line


class DraftArgument(BaseModel):
    """An argument that a speech makes."""

    model_config = ConfigDict(extra="forbid")

    id: int
    text: Line


class DraftRelation(BaseModel):
    """What one argument is to another."""

    model_config = ConfigDict(extra="forbid")

    source: int
    relation: Literal["claim", "premise", "conclusion", "first principle", "rebuttal"]
    target: int

    @property
    def kind(self) -> Relation:
        """The relation by its name."""
        return Relation(self.relation)


class Draft(BaseModel):
    """A graph that is not yet checked against the debate's; no field may be added to it."""

    model_config = ConfigDict(extra="forbid")

    arguments: list[DraftArgument]
    relations: list[DraftRelation]
    explanation: Line = ""


@cache
def draft_schema(most: int) -> type[Draft]:
    """Return the schema with the most arguments that a server is told of; 0 tells of no bound.

    A server that decodes by the schema stops there; an answer with more is not refused.
    """
    if not most:
        return create_model("SceneGraph", __base__=Draft)
    return create_model(
        "SceneGraph",
        __base__=Draft,
        arguments=(list[DraftArgument], Field(json_schema_extra={"maxItems": most})),
        relations=(list[DraftRelation], Field(json_schema_extra={"maxItems": most + most // 4})),
    )
