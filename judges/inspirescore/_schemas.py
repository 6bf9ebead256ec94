"""One call about several responses, and the schemas of the answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, create_model

from judges.inspirescore.fol import Truth
from touche_rad.models import Model, Prompt
from touche_rad.models.errors import Truncated
from touche_rad.models.output import Line, Paragraph, S, schema_limits

LEAST_TOKENS: Final = 1_536
"""Token limit of a small call. A part of a large call that was cut off gets more per response."""


def form(kind: Any) -> str:
    """Return the JSON form of an answer for the prompt: keys with "..." or 0.0 as values."""
    schema = TypeAdapter(kind).json_schema()
    definitions = schema.get("$defs", {})

    def value_of(part: Mapping[str, Any]) -> object:
        if "$ref" in part:
            return value_of(definitions[part["$ref"].rpartition("/")[2]])
        if "properties" in part:
            return {key: value_of(inner) for key, inner in part["properties"].items()}
        if part.get("type") == "array":
            return [value_of(part["items"])] * 2
        return 0.0 if part.get("type") == "number" else "..."

    return json.dumps(value_of(schema))


def part_size(texts: Sequence[str], most: int, characters: int) -> int:
    """Return how many texts a call may ask about."""
    mean = sum(map(len, texts)) / max(1, len(texts))
    return max(1, min(most, int(characters / max(1.0, mean))))


async def ask_with_room(
    model: Model,
    step: str,
    schema: type[S],
    tokens: int,
    *,
    alone: bool,
    **values: object,
) -> S:
    """Ask the prompt of a step with a token limit of at least LEAST_TOKENS."""
    messages = Prompt.load(__package__, step).messages(**values)
    limit = max(model.settings.max_tokens, LEAST_TOKENS, tokens)
    ask = partial(model.ask, messages, schema, step=f"inspirescore.{step}")
    try:
        return await ask(max_tokens=limit)
    except Truncated:
        if not alone:
            raise
        return await ask(max_tokens=2 * limit)


async def ask_about(
    model: Model,
    step: str,
    schema: str,
    responses: Sequence[object],
    kinds: Sequence[object],
    max_tokens: int,
    **values: object,
) -> list[Any]:
    """Ask the prompt of a step about some responses, and return the answer on each."""
    keys = [f"response_{number}" for number in range(1, len(responses) + 1)]
    answer = await ask_with_room(
        model,
        step,
        object_schema(schema, dict(zip(keys, kinds, strict=True))),
        max_tokens,
        alone=len(responses) == 1,
        responses=dict(zip(keys, responses, strict=True)),
        **values,
    )
    return [part for _, part in answer]


def _bare(value: object) -> object:
    """Accept JSON's true, capital letters, and the braces that the paper asks for."""
    return str(value).strip(" {}.\"'").lower() if isinstance(value, str | bool) else value


TruthValue = Annotated[Truth, BeforeValidator(_bare)]
Share01 = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Marks(BaseModel):
    """A side's four scores in one round."""

    analysis: Line
    emotional_appeal: Share01
    argument_clarity: Share01
    argument_arrangement: Share01
    topic_relevance: Share01


class AnalysedMark(BaseModel):
    """One score after its analysis."""

    analysis: Line
    score: Share01


class AnalysedMarks(BaseModel):
    """A side's four scores, each after an analysis, and the total that the paper asks for."""

    emotional_appeal: AnalysedMark
    argument_clarity: AnalysedMark
    argument_arrangement: AnalysedMark
    topic_relevance: AnalysedMark
    total_score: Annotated[float, schema_limits(minimum=0, maximum=4)]


class CheckedFact(BaseModel):
    """The reason for a verdict on a fact, and the verdict."""

    reason: Line
    verdict: TruthValue


class Predicate(BaseModel):
    """A predicate and its meaning."""

    symbol: Annotated[str, schema_limits(maxLength=60)]
    meaning: Annotated[str, schema_limits(maxLength=100)]


class Expression(BaseModel):
    """A formula and the sentence that it stands for."""

    formula: Annotated[str, schema_limits(maxLength=300)]
    meaning: Line


class Conclusion(BaseModel):
    """The steps to a verdict on a conclusion, and the verdict."""

    steps: Paragraph
    verdict: TruthValue


def _values(value: object) -> object:
    """Accept a numbered list, as in the paper: {"fact-1": ..., "fact-2": ...}."""
    return list(value.values()) if isinstance(value, dict) else value


def list_type(kind: Any, most: int) -> object:
    """Return a list type with a limit for the server; a longer list is still accepted."""
    return Annotated[list[kind], BeforeValidator(_values), schema_limits(maxItems=most)]


def object_schema(name: str, kinds: Mapping[str, Any]) -> type[BaseModel]:
    """Return a schema with a field for each key."""
    return create_model(name, **kinds)
