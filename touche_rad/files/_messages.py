"""Debates as messages: annotated debates, chat requests, and the responses to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import AliasChoices, Field, PlainValidator, TypeAdapter, WithJsonSchema

from touche_rad.debate import Debate, Response, Turn
from touche_rad.files.models import (
    WRITTEN_TEXT,
    Content,
    FileRecord,
    OptionalText,
    only_text,
    validate,
    written,
)
from touche_rad.files.records import (
    FieldError,
    JsonObject,
    Line,
    drop_keys,
    dump,
    keep_record,
    original_record,
    renewed,
    short_repr,
)
from touche_rad.files.simulations import ANNOTATED, Body, Citation, body_of

RESPONSES = "responses"
_MESSAGE = ("role", "content")


class Message(FileRecord):
    """A message; the user's and the system's take turns, and the user's is the first."""

    role: Annotated[Any, WithJsonSchema({"enum": ["user", "assistant"], "type": "string"})]
    content: Annotated[Content, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})]


class AnnotatedMessage(Message):
    """A message with the arguments that it cites."""

    arguments: tuple[Citation, ...] | None = None


def _message(value: object) -> Message:
    """Read the arguments of a system's message; a user's may have anything there."""
    is_system = isinstance(value, dict) and value.get("role") == "assistant"
    return (AnnotatedMessage if is_system else Message).model_validate(value)


_MESSAGES: Final = TypeAdapter(list[Annotated[Message, PlainValidator(_message)]])


def _turns(value: object) -> tuple[Turn, ...]:
    """Read alternating messages that start with the user's."""
    turns: list[Turn] = []
    for number, message in enumerate(_MESSAGES.validate_python(value)):
        expected = "user" if number % 2 == 0 else "assistant"
        if message.role != expected:
            raise FieldError(
                f"[{number}].role",
                f"expected {expected!r}, got {short_repr(message.role)}: "
                "the user speaks first, then the two take turns",
            )
        if isinstance(message, AnnotatedMessage):
            cited = message.arguments or ()
            response = Response(content=message.content, arguments=cited, extra=message.rest)
            turns[-1] = turns[-1].replace(response=response)
        else:
            rest = drop_keys(message.rest, ("utterance", "response"))
            turns.append(Turn(utterance=message.content, **rest))
    return tuple(turns)


_Turns = Annotated[tuple[Turn, ...], PlainValidator(_turns, json_schema_input_type=list[Message])]


class RequestLine(FileRecord):
    """The body of a request to a debate system."""

    messages: _Turns = Field(json_schema_extra={"minItems": 1})


class ResponseLine(Body):
    """A line of responses.jsonl: the answer, and the request that it answers."""

    content: Annotated[Content, WRITTEN_TEXT]
    debate: OptionalText = ""
    turn: Annotated[Any, WithJsonSchema({"minimum": 0, "type": "integer"})] = 0
    """From 0, as in the files of earlier versions."""
    messages: _Turns = Field(json_schema_extra={"minItems": 1})


class AnnotatedLine(FileRecord):
    """A line of the annotated debates."""

    model_config = written("claim")

    id: OptionalText = ""
    claim: OptionalText = ""
    description: OptionalText = ""
    simulated_debate: Annotated[
        tuple[Turn, ...], PlainValidator(_turns, json_schema_input_type=list[AnnotatedMessage])
    ] = Field(validation_alias=AliasChoices("simulated_debate", "debate"))
    """The official converter calls it `debate`."""


def messages_of(turns: Sequence[Turn]) -> list[JsonObject]:
    """Return turns as messages."""
    messages: list[JsonObject] = []
    for turn in turns:
        rest = drop_keys(turn.rest, _MESSAGE)
        messages.append({"role": "user", "content": turn.utterance, **rest})
        if turn.response:
            messages.append({**body_of(turn.response), "role": "assistant"})
    return messages


def annotated_of(line: Line) -> Debate:
    """Parse one annotated debate."""
    record = validate(AnnotatedLine, line.value)
    debate = Debate(
        id=record.id or f"debate-{line.number}",
        claim=record.claim,
        description=record.description,
        turns=record.simulated_debate,
    )
    return keep_record(debate, ANNOTATED, line.value)


def chat_of(line: Line) -> Debate:
    """Read one chat request."""
    request = validate(RequestLine, line.value)
    if not request.messages:
        raise FieldError("messages", "expected at least one message")
    return Debate(
        id=only_text(request.rest.get("id")) or f"debate-{line.number}",
        turns=request.messages,
    )


def response_of(line: Line) -> tuple[str, int, Debate]:
    """Parse one response: the debate's id, the turn, and the view that ends with the response."""
    record = validate(ResponseLine, line.value)
    request = Debate(id=record.debate, turns=record.messages)
    if not request.turns or request.last.response:
        raise FieldError("messages", "expected the last message to be the user's")
    turn = record.turn if "turn" in record.model_fields_set else len(request.turns) - 1
    if not isinstance(turn, int) or isinstance(turn, bool) or turn < 0:
        raise FieldError("turn", f"expected a turn's number, got {short_repr(turn)}")
    view = request.with_response(record.response(record.content))
    return request.id, turn, keep_record(view, RESPONSES, line.value, turn)


def response_line(debate: Debate, turn: int, response: Response) -> str:
    """Write the response to the last turn of a debate, with the request it answers."""
    messages = messages_of(debate.before_response().turns)
    old = original_record(debate, RESPONSES)
    if old is None:  # as the official client sends them: roles and contents only
        messages = [
            {"role": message["role"], "content": message["content"]} for message in messages
        ]
    else:
        read: Debate = debate.wire["read"]
        messages = renewed(old["messages"], messages_of(read.before_response().turns), messages)
        if (read.id, debate.wire["turn"], read.last.response) == (debate.id, turn, response):
            return dump({**old, "messages": messages})
    return dump({**body_of(response), "debate": debate.id, "turn": turn, "messages": messages})
