"""Debates as messages: annotated debates, chat requests, and the responses to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from touche_rad.debate import Debate, Response, Turn
from touche_rad.files.records import (
    FieldError,
    JsonObject,
    Line,
    drop_keys,
    dump,
    keep_record,
    optional_text,
    original_record,
    renewed,
    require_field,
    require_list,
    require_object,
    short_repr,
)
from touche_rad.files.simulations import (
    ANNOTATED,
    arguments_of,
    body_of,
    content_of,
)

RESPONSES = "responses"
_MESSAGE = ("role", "content")
_RESPONSE = ("content", "arguments", "debate", "turn", "messages")


def turns_of(value: Any, place: str) -> tuple[Turn, ...]:
    """Read alternating messages that start with the user's."""
    turns: list[Turn] = []
    for number, message in enumerate(require_list(value, place)):
        at = f"{place}[{number}]"
        record = require_object(message, at)
        role, field = require_field(record, "role", at)
        expected = "user" if number % 2 == 0 else "assistant"
        if role != expected:
            raise FieldError(field, f"expected {expected!r}, got {short_repr(role)}: {_ORDER}")
        content = content_of(*require_field(record, "content", at))
        if role == "user":
            rest = drop_keys(record, (*_MESSAGE, "utterance", "response"))
            turns.append(Turn(utterance=content, **rest))
        else:
            rest = drop_keys(record, (*_MESSAGE, "arguments"))
            response = Response(content=content, arguments=arguments_of(record, at), extra=rest)
            turns[-1] = turns[-1].model_copy(update={"response": response})
    return tuple(turns)


_ORDER = "the user speaks first, then the two take turns"


def messages_of(turns: Sequence[Turn]) -> list[JsonObject]:
    """Return turns as messages."""
    messages: list[JsonObject] = []
    for turn in turns:
        rest = drop_keys(turn.model_extra or {}, _MESSAGE)
        messages.append({"role": "user", "content": turn.utterance, **rest})
        if turn.response is not None:
            messages.append({**body_of(turn.response), "role": "assistant"})
    return messages


def request_of(turns: Sequence[Turn]) -> list[JsonObject]:
    """Return turns as the official client sends them: roles and contents only."""
    return [{key: message[key] for key in _MESSAGE} for message in messages_of(turns)]


def annotated_of(line: Line) -> Debate:
    """Parse one annotated debate; the official converter's key `debate` is accepted."""
    record = require_object(line.value, "")
    official = "simulated_debate"
    key = "debate" if "debate" in record and official not in record else official
    messages, place = require_field(record, key)
    debate = Debate(
        id=optional_text(record, "id") or f"debate-{line.number}",
        claim=optional_text(record, "claim"),
        description=optional_text(record, "description"),
        turns=turns_of(messages, place),
    )
    return keep_record(debate, ANNOTATED, line.value)


def chat_of(line: Line) -> Debate:
    """Read one chat request."""
    record = require_object(line.value, "")
    messages, place = require_field(record, "messages")
    turns = turns_of(messages, place)
    if not turns:
        raise FieldError(place, "expected at least one message")
    identifier = record.get("id")
    name = identifier if isinstance(identifier, str) and identifier else f"debate-{line.number}"
    return Debate(id=name, turns=turns)


def response_of(line: Line) -> tuple[str, int, Debate]:
    """Parse one response: the debate's id, the turn, and the view that ends with the response."""
    record = require_object(line.value, "")
    messages, place = require_field(record, "messages")
    request = Debate(id=optional_text(record, "debate"), turns=turns_of(messages, place))
    if not request.turns or request.last.response is not None:
        raise FieldError(place, "expected the last message to be the user's")
    response = Response(
        content=content_of(*require_field(record, "content")),
        arguments=arguments_of(record, ""),
        extra=drop_keys(record, _RESPONSE),
    )
    turn = record.get("turn", len(request.turns) - 1)
    if not isinstance(turn, int) or isinstance(turn, bool) or turn < 0:
        raise FieldError("turn", f"expected a turn's number, got {short_repr(turn)}")
    view = request.with_response(response)
    return request.id, turn, keep_record(view, RESPONSES, line.value, turn)


def response_line(debate: Debate, turn: int, response: Response) -> str:
    """Write the response to the last turn of a debate, with the request it answers."""
    request = debate.before_response(len(debate.turns) - 1)
    old = original_record(debate, RESPONSES)
    messages = request_of(request.turns)
    if old is not None:
        before: Debate = debate.wire["read"]
        read = before.before_response(len(before.turns) - 1)
        messages = renewed(old["messages"], messages_of(read.turns), messages_of(request.turns))
        if (before.id, debate.wire["turn"], before.last.response) == (debate.id, turn, response):
            return dump({**old, "messages": messages})
    return dump({**body_of(response), "debate": debate.id, "turn": turn, "messages": messages})
