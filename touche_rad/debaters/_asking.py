"""A question about a debate, as the debaters send it to a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.lists import T
from touche_rad.models import Message, Model, Prompt, drop_oldest
from touche_rad.models.output import S, schema_limits
from touche_rad.models.prompts import Shorten, Thesis, render_dialogue
from touche_rad.plugins import TOPIC_DEPTH, ArgumentIndex, find_topics
from touche_rad.text import clean

Wording = Literal["close", "free"]
ON_TOPIC = "only arguments on the topic of the debate, unless there are none"
_MAIN_TOPIC = 0.8
"""Least weight of a topic beside the best one, with which a debate is about it."""


def question_about(
    debate: Debate, prompt: Prompt, **values: object
) -> tuple[list[Message], Shorten]:
    """Return the messages with the thesis and the dialogue, and what shortens them.

    Too long a prompt loses the oldest utterances.
    """
    values = {"thesis": Thesis.of(debate), "dialogue": render_dialogue(debate), **values}
    return list(prompt.messages(**values)), drop_oldest(prompt, "dialogue", values)


async def ask_about(
    debate: Debate,
    model: Model,
    package: str,
    name: str,
    schema: type[S],
    *,
    step: str,
    max_tokens: int | None = None,
    **values: object,
) -> S:
    """Ask a prompt of a package with the thesis and the dialogue."""
    messages, shorten = question_about(debate, Prompt.load(package, name), **values)
    return await model.ask(messages, schema, step=step, shorten=shorten, max_tokens=max_tokens)


def messages_of(debate: Debate) -> list[str]:
    """Return the motion and what both sides said so far."""
    return [*debate.user_texts, *debate.system_texts]


def on_topic_of(examples: Iterable[Argument], arguments: Iterable[Argument]) -> Sequence[Argument]:
    """Return the arguments that have the topic of an example; empty if there are none."""
    topics = {argument.topic for argument in examples}
    return [argument for argument in arguments if argument.topic in topics]


def arguments_on_topic(index: ArgumentIndex, debate: Debate) -> list[Argument]:
    """Search for the user's messages; return the arguments on their main topics, best first."""
    users = [clean(turn.utterance) for turn in debate.turns]
    messages = " ".join(users)
    hits = index.search("all", messages, TOPIC_DEPTH)
    weights = find_topics(index, (*users[:1], messages, " ".join(users[1:])))
    return [hit.argument for hit in hits if weights.get(hit.argument.topic, 0) >= _MAIN_TOPIC]


def named(numbers: Iterable[int], shown: Sequence[T]) -> list[T]:
    """Return what numbers name, counted from 1; unknown and repeated numbers are ignored."""
    return [shown[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(shown)]


def max_letters(words: int) -> int:
    """Return the limit of a text in letters, with room for all of its words."""
    return max(600, 10 * words)


def text_of(words: int, *, least: int = 1) -> object:
    """Return the type of a text with room for so many words, and at least so many letters."""
    limit: Any = {"maxLength": max_letters(words)}
    return Annotated[str, Field(min_length=least or None, json_schema_extra=limit)]


def at_most(count: int, kind: object) -> object:
    """Return the type of a list of this kind with at most so many values."""
    return Annotated[kind, schema_limits(maxItems=count)]


def narrowed(name: str, schema: type[S], **types: object) -> type[S]:
    """Return a schema in which fields have narrower types; their defaults stay.

    Servers see the name, and can show it to the model.
    """
    fields: dict[str, Any] = {}
    for field_name, narrower_type in types.items():
        field = schema.model_fields[field_name]
        fields[field_name] = (narrower_type, ... if field.is_required() else field.default)
    return create_model(name, __base__=schema, **fields)
