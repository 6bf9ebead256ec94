"""Debates as messages: annotated debates, chat requests, and the responses to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from touche_rad.debate import Debate, Response, Turn
from touche_rad.files.records import (
    FieldError,
    JsonObject,
    Line,
    dump,
    optional_text,
    require_field,
    require_list,
    require_object,
    short_repr,
)
from touche_rad.files.simulations import (
    ANNOTATED,
    SIMULATIONS,
    arguments_of,
    as_originally_read,
    body_of,
    content_of,
    drop_keys,
    keep_record,
    kept_record,
    same,
    unnamed,
)

CHAT, RESPONSES = "chat", "responses"
_SAID = ("role", "content")
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
            rest = drop_keys(record, (*_SAID, "utterance", "response"))
            turns.append(Turn(utterance=content, **rest))
        else:
            rest = drop_keys(record, (*_SAID, "arguments"))
            response = Response(content=content, arguments=arguments_of(record, at), extra=rest)
            turns[-1] = turns[-1].model_copy(update={"response": response})
    return tuple(turns)


_ORDER = "the user speaks first, then the two take turns"


def messages_of(
    turns: Sequence[Turn], before: Sequence[Turn] = (), old: Sequence[Any] = ()
) -> list[Any]:
    """Return turns as messages; unchanged messages are kept as they were in the file."""
    made: list[Any] = []
    for number, turn in enumerate(turns):
        then = before[number] if number < len(before) else None
        stood = old[2 * number : 2 * number + 2]
        if then is not None and same(_user_side(then), _user_side(turn)):
            made.append(stood[0])
        else:
            made.append(_user_message(turn))
        if turn.response is not None:
            kept = then is not None and same(then.response, turn.response)
            made.append(stood[1] if kept else _system_message(turn.response))
    return made


def _user_side(turn: Turn) -> tuple[str, Any]:
    return turn.utterance, turn.model_extra


def _user_message(turn: Turn) -> JsonObject:
    rest = drop_keys(turn.model_extra or {}, _SAID)
    return {"role": "user", "content": turn.utterance, **rest}


def _system_message(response: Response) -> JsonObject:
    return {**body_of(response), "role": "assistant"}


def request_of(turns: Sequence[Turn]) -> list[JsonObject]:
    """Return turns as the official client sends them: roles and contents only."""
    return [{key: message[key] for key in _SAID} for message in messages_of(turns)]


def annotated_of(line: Line) -> Debate:
    """Parse one annotated debate; the official converter's key `debate` is accepted."""
    record = require_object(line.value, "")
    messages, place = require_field(record, _messages_key(record))
    debate = Debate(
        id=optional_text(record, "id") or f"debate-{line.number}",
        claim=optional_text(record, "claim"),
        description=optional_text(record, "description"),
        turns=turns_of(messages, place),
    )
    return keep_record(debate, ANNOTATED, line.raw)


def _messages_key(record: JsonObject) -> str:
    return "debate" if "simulated_debate" not in record and "debate" in record else _MESSAGES


_MESSAGES = "simulated_debate"


def annotated_line(debate: Debate) -> str:
    """Write a debate as in the official annotated debates."""
    old, before = kept_record(debate, ANNOTATED), as_originally_read(debate)
    if old is None:
        head = {"id": debate.id, "claim": debate.claim, "description": debate.description}
        rest = unnamed(debate, SIMULATIONS)
        return dump({**head, **rest, _MESSAGES: messages_of(debate.turns)})
    key = _messages_key(old)
    record = {**old, key: messages_of(debate.turns, before.turns, old[key])}
    for name in ("id", "claim", "description"):
        if getattr(debate, name) != getattr(before, name):
            record[name] = getattr(debate, name)
    return dump(record)


def chat_of(line: Line) -> Debate:
    """Read one chat request."""
    record = require_object(line.value, "")
    messages, place = require_field(record, "messages")
    turns = turns_of(messages, place)
    if not turns:
        raise FieldError(place, "expected at least one message")
    identifier = record.get("id")
    name = identifier if isinstance(identifier, str) and identifier else f"debate-{line.number}"
    return keep_record(Debate(id=name, turns=turns), CHAT, line.raw)


def chat_line(debate: Debate) -> str:
    """Write a debate as a chat request."""
    old, before = kept_record(debate, CHAT), as_originally_read(debate)
    if old is None:
        head = {"id": debate.id} if debate.id else {}
        return dump({**head, "messages": request_of(debate.turns)})
    record = {**old, "messages": messages_of(debate.turns, before.turns, old["messages"])}
    return dump(record if debate.id == before.id else {**record, "id": debate.id})


def response_of(line: Line) -> tuple[str, int, Debate]:
    """Parse one response: the debate's id, the turn, and the view that ends with the response."""
    record = require_object(line.value, "")
    messages, place = require_field(record, "messages")
    asked = Debate(id=optional_text(record, "debate"), turns=turns_of(messages, place))
    if not asked.turns or asked.last.response is not None:
        raise FieldError(place, "expected the last message to be the user's")
    response = Response(
        content=content_of(*require_field(record, "content")),
        arguments=arguments_of(record, ""),
        extra=drop_keys(record, _RESPONSE),
    )
    turn = record.get("turn", len(asked.turns) - 1)
    if not isinstance(turn, int) or isinstance(turn, bool) or turn < 0:
        raise FieldError("turn", f"expected a turn's number, got {short_repr(turn)}")
    return asked.id, turn, keep_record(asked.with_response(response), RESPONSES, line.raw, turn)


def response_line(debate: Debate, turn: int, response: Response) -> str:
    """Write the response to the last turn of a debate, with the request it answers."""
    asked = debate.before_response(len(debate.turns) - 1)
    old, before = kept_record(debate, RESPONSES), as_originally_read(debate)
    messages = request_of(asked.turns)
    if old is not None:
        messages = messages_of(asked.turns, before.turns, old["messages"])
        if (before.id, debate.wire["turn"], before.last.response) == (debate.id, turn, response):
            return dump({**old, "messages": messages})
    answer = {"debate": debate.id, "turn": turn, "messages": messages}
    return dump({**body_of(response), **answer})
