"""Bodies of requests and answers.

Only necessary fields are required, and unknown fields are accepted. A text may be null or a number,
because the official client sends back whatever a system once answered.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from touche_rad.text import clean

MAX_TURNS: Final = 2000


def _to_text(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    return clean(value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_to_text, json_schema_input_type=str | float | bool | None)]


class Body(BaseModel):
    """Base: unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


class Message(Body):
    """One utterance of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: Text = ""


class ChatRequest(Body):
    """The conversation so far; the last message is the user's."""

    messages: list[Message] = Field(min_length=1, max_length=4000)


class CitedArgument(Body):
    """An argument of the collection."""

    model_config = ConfigDict(extra="allow")

    id: str
    text: str
    topic: str = ""
    tags: list[str] = []
    attacks: str = ""
    supports: str = ""
    references: list[str] = []
    original: str | None = None


class ChatAnswer(Body):
    """The answer, and the arguments it uses, in the order of use."""

    model_config = ConfigDict(extra="allow")

    content: str
    arguments: list[CitedArgument]


_SIMULATION_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["userTurns"],
    "description": "A simulation as the official client writes it. Other fields are accepted.",
    "properties": {
        "userTurns": {
            "type": "array",
            "maxItems": MAX_TURNS,
            "items": {
                "type": "object",
                "properties": {
                    "utterance": {"type": ["string", "null"]},
                    "systemResponse": {
                        "type": ["object", "null"],
                        "properties": {
                            "utterance": {"type": ["string", "null"]},
                            "response": {
                                "type": ["object", "null"],
                                "properties": {
                                    "content": {"type": ["string", "null"]},
                                    "arguments": {
                                        "type": ["array", "null"],
                                        "items": {
                                            "type": "object",
                                            "properties": {
                                                "id": {"type": "string"},
                                                "text": {"type": "string"},
                                                "attacks": {"type": "string"},
                                            },
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


class JudgeRequest(Body):
    """The simulation, and the user turn whose response to judge.

    Without `userTurnIndex` the whole debate is meant, which is not evaluated.
    """

    model_config = ConfigDict(extra="allow")

    simulation: Annotated[dict[str, Any], WithJsonSchema(_SIMULATION_SCHEMA)]
    userTurnIndex: int | None = None


class Score(Body):
    """A number in 0..1, where 0.5 and more means yes; null for a whole debate."""

    score: float | None
    explanation: str = ""


class Health(Body):
    """State of the server, with its plugins."""

    status: Literal["ok"] = "ok"
    version: str
    debater: str
    judge: str
    arguments: int | None


class Fault(Body):
    """Why a request was refused."""

    detail: str
