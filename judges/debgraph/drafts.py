"""What a model is asked for when it reads a speech: arguments, relations, and why."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from judges.debgraph.graph import MOTION
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
def draft_schema(most: int, first: int = 1) -> type[Draft]:
    """Return the schema with the most arguments that a server is told of; 0 tells of no bound.

    Where there is a bound, a server is told too which ids can be: the first that is free, and as
    many as may come. A server that decodes by the schema stops there; an answer with more is not
    refused, but read by the rules of the graph.
    """
    if not most:
        return create_model("SceneGraph", __base__=Draft)
    argument = create_model(
        "DraftArgument", __base__=DraftArgument, id=(_within(first, first + most - 1), ...)
    )
    relation = create_model(
        "DraftRelation",
        __base__=DraftRelation,
        source=(_within(1, first + most - 1), ...),
        target=(_within(MOTION, first + most - 1), ...),
    )
    return create_model(
        "SceneGraph",
        __base__=Draft,
        arguments=(_listed(argument, most), ...),
        relations=(_listed(relation, most + most // 4), ...),
    )


def _within(least: int, most: int) -> Any:
    return Annotated[int, Field(json_schema_extra={"minimum": least, "maximum": most})]


def _listed(kind: Any, most: int) -> Any:
    return Annotated[list[kind], Field(json_schema_extra={"maxItems": most})]
