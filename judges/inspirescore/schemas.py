"""What the model answers with: bounded, keyed by what was shown, and never a total of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, create_model

from touche_rad.models.schemas import Line, Page, Paragraph

Truth = Literal["true", "false", "unknown"]


def _bare(said: Any) -> Any:
    """A truth may come as JSON's own, in capitals, or in the braces that the paper asks for."""
    return str(said).strip(" {}.\"'").lower() if isinstance(said, str | bool) else said


Told = Annotated[Truth, BeforeValidator(_bare)]
Mark = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Marks(BaseModel):
    """A side's four scores in one round."""

    analysis: Line
    emotional_appeal: Mark
    argument_clarity: Mark
    argument_arrangement: Mark
    topic_relevance: Mark


class Analysed(BaseModel):
    """One score with the analysis that it stands on."""

    analysis: Line
    score: Mark


class AnalysedMarks(BaseModel):
    """The same with an analysis of each, and the sum that the paper lets the model make."""

    emotional_appeal: Analysed
    argument_clarity: Analysed
    argument_arrangement: Analysed
    topic_relevance: Analysed
    total_score: float


class Predicate(BaseModel):
    """A predicate and what it says."""

    symbol: Line
    meaning: Line


class Expression(BaseModel):
    """A formula and the sentence that it stands for."""

    formula: Annotated[str, Field(json_schema_extra={"maxLength": 300})]
    meaning: Line


class Inferred(BaseModel):
    """A conclusion's verdict, behind the steps that lead to it."""

    steps: Paragraph
    verdict: Told


def _values(said: Any) -> Any:
    """A list may come as the paper's own form has it, numbered: {"fact-1": ..., "fact-2": ...}."""
    return list(said.values()) if isinstance(said, dict) else said


def bounded(kind: Any, most: int) -> Any:
    """A list that a server ends at a bound, and that is not refused for one item more."""
    return Annotated[
        list[kind], BeforeValidator(_values), Field(json_schema_extra={"maxItems": most})
    ]


def keyed(name: str, kinds: Mapping[str, Any]) -> type[BaseModel]:
    """An object with a field for each key."""
    fields: Any = {key: (kind, ...) for key, kind in kinds.items()}
    made: type[BaseModel] = create_model(name, **fields)
    return made


def round_scores(
    name: str, keys: Sequence[str], labels: Sequence[str], detailed: bool
) -> type[BaseModel]:
    """The scores of one round: in detail also the winner and the reason that the paper asks for."""
    if not detailed:
        return keyed(name, dict.fromkeys(keys, Marks))
    more = {"winner": Literal[tuple(labels)], "reason": Page}
    return keyed(name, {**dict.fromkeys(keys, AnalysedMarks), **more})
