"""One call about several responses, and the schemas of the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, create_model

from touche_rad.models import Model, Prompt
from touche_rad.models.output import Line, Page, Paragraph


async def ask_about(
    model: Model, step: str, schema: str, responses: Sequence[Any], kinds: Sequence[Any],
    **values: Any,
) -> list[Any]:  # fmt: skip
    """Ask the prompt of a step about some responses, and return the answer on each."""
    keys = [f"response_{number}" for number in range(1, len(responses) + 1)]
    messages = Prompt.load(__package__, step).messages(
        responses=dict(zip(keys, responses, strict=True)), **values
    )
    keyed_schema = keyed(schema, dict(zip(keys, kinds, strict=True)))
    answer = await model.ask(messages, keyed_schema, step=f"inspirescore.{step}")
    return [getattr(answer, key) for key in keys]


Truth = Literal["true", "false", "unknown"]


def _bare(value: Any) -> Any:
    """Accept JSON's true, capital letters, and the braces that the paper asks for."""
    return str(value).strip(" {}.\"'").lower() if isinstance(value, str | bool) else value


TruthValue = Annotated[Truth, BeforeValidator(_bare)]
Mark = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Marks(BaseModel):
    """A side's four scores in one round."""

    analysis: Line
    emotional_appeal: Mark
    argument_clarity: Mark
    argument_arrangement: Mark
    topic_relevance: Mark


class AnalysedMark(BaseModel):
    """One score after its analysis."""

    analysis: Line
    score: Mark


class AnalysedMarks(BaseModel):
    """A side's four scores, each after an analysis, and the total that the paper asks for."""

    emotional_appeal: AnalysedMark
    argument_clarity: AnalysedMark
    argument_arrangement: AnalysedMark
    topic_relevance: AnalysedMark
    total_score: float


class Predicate(BaseModel):
    """A predicate and its meaning."""

    symbol: Line
    meaning: Line


class Expression(BaseModel):
    """A formula and the sentence that it stands for."""

    formula: Annotated[str, Field(json_schema_extra={"maxLength": 300})]
    meaning: Line


class Conclusion(BaseModel):
    """The steps to a verdict on a conclusion, and the verdict."""

    steps: Paragraph
    verdict: TruthValue


def _values(value: Any) -> Any:
    """Accept a numbered list, as in the paper: {"fact-1": ..., "fact-2": ...}."""
    return list(value.values()) if isinstance(value, dict) else value


def bounded(kind: Any, most: int) -> Any:
    """Return a list type with a limit for the server; a longer list is still accepted."""
    return Annotated[
        list[kind], BeforeValidator(_values), Field(json_schema_extra={"maxItems": most})
    ]


def keyed(name: str, kinds: Mapping[str, Any]) -> type[BaseModel]:
    """Return a schema with a field for each key."""
    fields: Any = {key: (kind, ...) for key, kind in kinds.items()}
    made: type[BaseModel] = create_model(name, **fields)
    return made


def round_scores(
    name: str, keys: Sequence[str], labels: Sequence[str], detailed: bool
) -> type[BaseModel]:
    """Return the schema of a round's scores; in detail also with a winner and the reason."""
    if not detailed:
        return keyed(name, dict.fromkeys(keys, Marks))
    more = {"winner": Literal[tuple(labels)], "reason": Page}
    return keyed(name, {**dict.fromkeys(keys, AnalysedMarks), **more})
