"""Bodies of requests and answers.

Only necessary fields are required, and unknown fields are accepted. A text may be any JSON value,
because the official client sends the earlier answers of a system back unchanged.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

from touche_rad.debate import MOST_CHARACTERS, Argument, OpenRecord
from touche_rad.files.models import lenient_text
from touche_rad.files.records import each_key_once, writable_again
from touche_rad.text import packaged_text

_LONGEST: Final = 10 * MOST_CHARACTERS
"""Characters of a text that are read: plugins get fewer, and more would hold up other requests."""


Text = Annotated[
    str,
    BeforeValidator(lambda value: lenient_text(value)[:_LONGEST], json_schema_input_type=Any),
]


def read_json(body: bytes) -> Any:
    """Return the JSON value of a body; numbers may be infinite or none.

    Raises:
        FieldError: A key occurs twice in an object, or the value is nested too deeply.
    """
    text = body.decode(json.detect_encoding(body), "surrogatepass")
    return writable_again(json.loads(text, object_pairs_hook=each_key_once), text)


class RequestBody(BaseModel):
    """Base: unknown fields are ignored."""


class Message(RequestBody):
    """One utterance of the conversation.

    The server remembers the arguments of its own answers. Those of other answers can be sent, so
    that the next answer is the one from a file.
    """

    role: Literal["user", "assistant", "system"]
    content: Text = ""
    arguments: Any = None


class ChatRequest(RequestBody):
    """The conversation so far; the last message is the user's."""

    messages: list[Message] = Field(min_length=1, max_length=4000)


_SIMULATION_SCHEMA: Final[dict[str, Any]] = json.loads(
    packaged_text(__package__, "simulation.schema.json")
)
MAX_TURNS: Final[int] = _SIMULATION_SCHEMA["properties"]["userTurns"]["maxItems"]


class JudgeRequest(OpenRecord):
    """The simulation, and the user turn whose response is judged.

    Without `userTurnIndex` the request is about the whole debate, which only criteria for whole
    debates evaluate.
    """

    simulation: Annotated[dict[str, Any], WithJsonSchema(_SIMULATION_SCHEMA)]
    userTurnIndex: int | None = None


class AnswerBody(OpenRecord):
    """The answer; a debater may add fields."""

    content: str
    arguments: list[Argument]
    fallback: str = ""
    """Only in a fallback answer: why it is one."""


class Score(RequestBody):
    """A score from 0 to 1; 0.5 or more means yes. Null for a category, or what is not evaluated."""

    score: float | None
    answer: int | str | None = None
    """Only with other criteria than the task's."""
    explanation: str = ""
    fallback: str = ""
    """Only in a fallback score: why it is one."""


class Health(RequestBody):
    """State of the server, with its plugins."""

    status: Literal["ok"] = "ok"
    version: str
    debater: str
    judge: str
    arguments: int | None
    model_problem: str = ""
    """Why the model's endpoint cannot be used at present; empty if it can, or without a model."""
    answers: int = 0
    """Answers since the start."""
    fallbacks: int = 0
    """Answers that are not from the debater, or that it made without its model."""
    verdicts: int = 0
    """Scores since the start, without those of the debate page."""
    verdict_fallbacks: int = 0
    """Scores that are not from the judge, or that it gave without its model."""
    last_fallback: str = ""
    """The cause of the last fallback."""


class Fault(RequestBody):
    """Why a request was refused."""

    detail: str
