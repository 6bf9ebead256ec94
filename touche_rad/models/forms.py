"""How a server is held to the form of an answer: by the strictest means that it has.

It is asked to keep to the schema while it decodes; one that cannot is asked for JSON, and then for
plain text. What is not valid is sent back once with what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from touche_rad.models.call import Call
from touche_rad.models.errors import BadRequest, InvalidAnswer, Truncated
from touche_rad.models.output import NoObject, bounded_schema, parse_object
from touche_rad.models.prompts import Message
from touche_rad.models.sending import Sender, chosen, words_of

S = TypeVar("S", bound=BaseModel)

LIKELY: Final = {"logprobs": True, "top_logprobs": 20}
"""What asks a server how likely each word of the answer was."""
_MODES: Final = ("json_schema", "json_object", "text")
_FORMAT_WORDS: Final = (
    "response_format",
    "json_schema",
    "guided",
    "structured",
    "grammar",
    "schema",
)


class Forms:
    """The forms of one model's answers; what its server has not is remembered."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._mode = 0

    async def valid(
        self,
        sender: Sender,
        call: Call,
        body: Mapping[str, Any],
        schema: type[S],
        choices: Sequence[str],
    ) -> tuple[Mapping[str, Any], S]:
        """Return a reply and its object; the model is told once what is wrong with its answer.

        Raises:
            Invalid: The second answer does not fit the schema either.
        """
        reply = await self._said(sender, call, body, schema, choices)
        said = words_of(reply, self._model)
        try:
            return reply, parse_object(said, schema)
        except NoObject as error:
            told = str(error)
        call.cost.repairs += 1
        more = [Message("assistant", said).wire(), Message("user", _repair(told)).wire()]
        again = {**body, "messages": [*body["messages"], *more]}
        reply = await self._said(sender, call, again, schema, choices)
        try:
            return reply, parse_object(words_of(reply, self._model), schema)
        except NoObject as error:
            raise InvalidAnswer(
                f"{self._model}: the answer does not fit {schema.__name__}: {error}"
            ) from None

    async def _said(
        self,
        sender: Sender,
        call: Call,
        body: Mapping[str, Any],
        schema: type[BaseModel],
        choices: Sequence[str],
    ) -> Mapping[str, Any]:
        freely = False
        while True:
            mode = "text" if freely else _MODES[self._mode]
            wanted = {**body, **_format(mode, schema)}
            bodies = [{**wanted, **LIKELY}, wanted] if choices else [wanted]
            try:
                return await sender.first_taken(
                    call, bodies, lambda reply: words_of(reply, self._model)
                )
            except BadRequest as error:
                if mode == "text" or not any(word in str(error).lower() for word in _FORMAT_WORDS):
                    raise
                self._mode = max(self._mode, _MODES.index(mode) + 1)
            except Truncated as error:
                if not error.blank or mode == "text":
                    raise
                freely = True


async def one_of(
    sender: Sender, call: Call, body: Mapping[str, Any], choices: tuple[str, ...]
) -> dict[str, float]:
    """Return how likely each choice is as the answer."""
    held = {"structured_outputs": {"choice": list(choices)}}
    bodies = [{**body, **LIKELY, **held}, {**body, **LIKELY}, body]
    reply = await sender.first_taken(call, bodies, lambda reply: chosen(reply, choices))
    return chosen(reply, choices)


def _format(mode: str, schema: type[BaseModel]) -> dict[str, Any]:
    if mode == "json_schema":
        inner = {"name": schema.__name__, "schema": bounded_schema(schema), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": inner}}
    return {"response_format": {"type": "json_object"}} if mode == "json_object" else {}


def _repair(told: str) -> str:
    return f"That is not valid: {told}. Answer again with nothing but the corrected JSON object."
