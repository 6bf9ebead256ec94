"""A question about a debate, as the debaters send it to a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Debate
from touche_rad.models import Model, Prompt, drop_oldest
from touche_rad.models.prompts import Thesis, render_dialogue

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Wording = Literal["close", "free"]


async def ask_about(
    debate: Debate,
    model: Model,
    prompt: Prompt,
    schema: type[M],
    *,
    step: str,
    max_tokens: int | None = None,
    **more: object,
) -> M:
    """Ask with the thesis and the dialogue; too long a prompt loses the oldest utterances."""
    values = {"thesis": Thesis.of(debate), "dialogue": render_dialogue(debate), **more}
    return await model.ask(
        prompt.messages(**values),
        schema,
        step=step,
        shorten=drop_oldest(prompt, "dialogue", values),
        max_tokens=max_tokens,
    )


def cited_before(debate: Debate) -> frozenset[str]:
    """Return the ids of the arguments that the debater cited in earlier turns."""
    responses = (turn.response for turn in debate.turns if turn.response is not None)
    return frozenset(argument.id for one in responses for argument in one.arguments)


def named(numbers: Iterable[int], items: Sequence[T]) -> list[T]:
    """Return the items that numbers name, from 1; unknown and repeated numbers are ignored."""
    known = (one for one in dict.fromkeys(numbers) if 1 <= one <= len(items))
    return [items[number - 1] for number in known]


def max_letters(words: int) -> int:
    """Return the limit of a text in letters, with room for all of its words."""
    return max(600, 10 * words)


def text_of(words: int, *, least: int = 1) -> Any:
    """Return the type of a text with room for so many words, and at least so many letters."""
    limit: Any = {"maxLength": max_letters(words)}
    return Annotated[str, Field(min_length=least or None, json_schema_extra=limit)]


def at_most(count: int, kind: object) -> Any:
    """Return the type of a list of this kind with at most so many items."""
    return Annotated[kind, Field(json_schema_extra={"maxItems": count})]


def narrowed(schema: type[M], **types: object) -> type[M]:
    """Return a schema in which fields have narrower types; their defaults stay."""
    fields: dict[str, Any] = {
        name: (kind, ... if field.is_required() else field.default)
        for name, kind in types.items()
        if (field := schema.model_fields[name])
    }
    return create_model(schema.__name__, __base__=schema, **fields)
