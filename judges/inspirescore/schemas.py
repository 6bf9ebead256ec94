"""Prompts, answer schemas, and batches that are halved if the model fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, create_model

from touche_rad.models import Model, ModelError, Prompt
from touche_rad.models.errors import InvalidAnswer, PromptTooLong, Truncated
from touche_rad.models.output import Line, Page, Paragraph


@cache
def prompt(name: str) -> Prompt:
    """Return `NAME.jinja`."""
    return Prompt.load("judges.inspirescore", name)


T = TypeVar("T")
R = TypeVar("R")
Ask = Callable[[Sequence[T]], Awaitable[Sequence[R]]]


async def in_batches(
    model: Model, items: Sequence[T], size: int, ask: Ask[T, R]
) -> list[R | ModelError]:
    """Return what is answered of each item, or why nothing is.

    A batch whose prompt or answer does not fit is halved, down to single items; of `n` items no
    more than `2n - 1` calls are made.
    """
    batches = [items[at : at + size] for at in range(0, len(items), size)]
    calls: list[Callable[[], Awaitable[list[R | ModelError]]]]
    calls = [partial(_whole_or_halves, batch, ask) for batch in batches]
    found = await model.ask_all(calls)
    return [one for batch in found if not isinstance(batch, ModelError) for one in batch]


async def _whole_or_halves(batch: Sequence[T], ask: Ask[T, R]) -> list[R | ModelError]:
    try:
        return list(await ask(batch))
    except (Truncated, PromptTooLong, InvalidAnswer) as error:
        if len(batch) == 1:
            return [error]
    except ModelError as error:
        return [error] * len(batch)
    half = len(batch) // 2
    first = await _whole_or_halves(batch[:half], ask)
    return [*first, *await _whole_or_halves(batch[half:], ask)]


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
