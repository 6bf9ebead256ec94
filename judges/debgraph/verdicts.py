"""Verdicts of one kind: asked for one by one or many in a call, with feedback or without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, Field, create_model

from judges.debgraph.batches import at_most
from judges.debgraph.options import Options
from judges.debgraph.showing import prompt_of
from touche_rad.models import Model
from touche_rad.models.schemas import Line, Page

V = TypeVar("V", bound=BaseModel)

BATCH_WORDS: Final = 30
"""Words of feedback on each, where many are asked for at once."""


class Verdicts(Generic[V]):
    """How one kind of verdict is asked for."""

    def __init__(self, bare: type[V], *, name: str, number: str, prompt: str, step: str) -> None:
        """Make the schemas.

        Args:
            bare: The verdict without feedback.
            name: What it is called with feedback.
            number: The field that says what a verdict among many is on.
            prompt: The prompt's name.
            step: What the calls are counted under.
        """
        self._name, self._number, self._prompt, self._step = name, number, prompt, step
        make: Any = create_model
        numbered = make(
            f"Numbered{bare.__name__}", __base__=bare, **{number: (int, ...)},
            __doc__=f"A verdict on what has this {number}.",
        )  # fmt: skip
        said = f"{bare.__doc__} With feedback."
        self._alone: dict[bool, type[V]] = {
            False: bare, True: make(name, __base__=bare, feedback=(Page, ""), __doc__=said)
        }  # fmt: skip
        self._among: dict[bool, type[V]] = {
            False: numbered,
            True: make(
                f"Numbered{name}", __base__=numbered, feedback=(Line, ""),
                __doc__=f"{numbered.__doc__} With feedback.",
            ),
        }  # fmt: skip

    async def ask(
        self, model: Model, options: Options, numbers: Sequence[int], **shown: Any
    ) -> dict[int, V]:
        """Return the verdicts by number, the first of each; some may be missing.

        Args:
            model: The model.
            options: Whether each is asked about by itself, and whether feedback is wanted.
            numbers: What a verdict may be on.
            shown: What the prompt shows besides.
        """
        each, wanted = options.ask == "each", options.feedback != "none"
        words = options.feedback_words if each else min(BATCH_WORDS, options.feedback_words)
        messages = prompt_of(self._prompt).messages(
            each=each, words=words if wanted else 0, **shown
        )
        if each:
            return {numbers[0]: await model.ask(messages, self._alone[wanted], step=self._step)}
        item: Any = self._among[wanted]
        bounds = Field(json_schema_extra=at_most(len(numbers)))
        schema: Any = create_model(f"{self._name}s", verdicts=(list[item], bounds))
        answer: Any = await model.ask(messages, schema, step=self._step)
        first: dict[int, V] = {}
        for one in answer.verdicts:
            first.setdefault(getattr(one, self._number), one)
        return first
