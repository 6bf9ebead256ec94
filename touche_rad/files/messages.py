"""Debates as messages: annotated debates, chat requests, and the responses to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from touche_rad.debate import Debate, Response, Turn
from touche_rad.files.parts import arguments_of, body_of, plain
from touche_rad.files.record import Miss, Record, a_list, an_object, optional_text, shown, within

ANNOTATED, CHAT, RESPONSES = "annotated", "chat", "responses"


def turns_of(value: Any, place: str) -> tuple[Turn, ...]:
    """Read alternating messages that start with the user's."""
    turns: list[Turn] = []
    for number, message in enumerate(a_list(value, place)):
        at = f"{place}[{number}]"
        record = an_object(message, at)
        role, field = within(record, "role", at)
        expected = "user" if number % 2 == 0 else "assistant"
        if role != expected:
            raise Miss(field, f"expected {expected!r}, got {shown(role)}")
        content = _content(record, at)
        rest = {key: value for key, value in record.items() if key not in ("role", "content")}
        if role == "user":
            for key in ("utterance", "response"):
                rest.pop(key, None)
            turns.append(Turn(utterance=content, **rest))
        else:
            rest.pop("arguments", None)
            response = Response(content=content, arguments=arguments_of(record, at), **rest)
            turns[-1] = turns[-1].model_copy(update={"response": response})
    return tuple(turns)


def _content(record: Record, place: str) -> str:
    """A system that once answered null or a number gets that back: it is text all the same."""
    content, field = within(record, "content", place)
    if content is None:
        return ""
    if isinstance(content, bool | dict | list):
        raise Miss(field, f"expected text, got {shown(content)}")
    return str(content)


def messages_of(turns: Sequence[Turn], before: Sequence[Turn], old: Sequence[Any]) -> list[Record]:
    """Write turns as messages; one that is as it was read stands as it stood in the file."""
    made: list[Record] = []
    for number, turn in enumerate(turns):
        then = before[number] if number < len(before) else None
        kept = old[2 * number : 2 * number + 2]
        same_words = then is not None and _user_side(then) == _user_side(turn)
        made.append(kept[0] if same_words else _user_message(turn))
        if turn.response is not None:
            same = then is not None and then.response == turn.response and len(kept) > 1
            made.append(kept[1] if same else _system_message(turn.response))
    return made


def _user_side(turn: Turn) -> Turn:
    return turn.model_copy(update={"response": None})


def _user_message(turn: Turn) -> Record:
    rest = {
        key: value for key, value in plain(turn).items() if key not in ("utterance", "response")
    }
    return {"role": "user", "content": turn.utterance, **rest}


def _system_message(response: Response) -> Record:
    return {"role": "assistant", **body_of(response)}


def annotated_of(value: Any, number: int) -> Debate:
    """Read one annotated debate; the official converter's key `debate` does as well."""
    record = an_object(value, "")
    key = "debate" if "simulated_debate" not in record and "debate" in record else None
    messages, place = within(record, key or "simulated_debate")
    return Debate(
        id=optional_text(record, "id") or f"debate-{number}",
        claim=optional_text(record, "claim"),
        description=optional_text(record, "description"),
        turns=turns_of(messages, place),
        wire={"kind": ANNOTATED, "record": record, "number": number},
    )


def annotated_record(debate: Debate) -> Record:
    """Write an annotated debate."""
    if debate.wire.get("kind") != ANNOTATED:
        head = {"id": debate.id, "claim": debate.claim, "description": debate.description}
        return {**head, "simulated_debate": messages_of(debate.turns, (), ())}
    old = debate.wire["record"]
    before = annotated_of(old, debate.wire["number"])
    key = "simulated_debate" if "simulated_debate" in old else "debate"
    record = {**old, key: messages_of(debate.turns, before.turns, old[key])}
    for name in ("id", "claim", "description"):
        if getattr(debate, name) != getattr(before, name):
            record[name] = getattr(debate, name)
    return record


def chat_of(value: Any, number: int) -> Debate:
    """Read one chat request."""
    record = an_object(value, "")
    messages, place = within(record, "messages")
    turns = turns_of(messages, place)
    if not turns:
        raise Miss(place, "expected at least one message")
    identifier = record.get("id")
    return Debate(
        id=identifier if isinstance(identifier, str) else f"debate-{number}",
        turns=turns,
        wire={"kind": CHAT, "record": record, "number": number},
    )


def chat_record(debate: Debate) -> Record:
    """Write a chat request."""
    if debate.wire.get("kind") != CHAT:
        bare = [{"role": one["role"], "content": one["content"]}
                for one in messages_of(debate.turns, (), ())]  # fmt: skip
        return {**({"id": debate.id} if debate.id else {}), "messages": bare}
    old = debate.wire["record"]
    before = chat_of(old, debate.wire["number"])
    return {**old, "messages": messages_of(debate.turns, before.turns, old["messages"])}


def response_of(value: Any) -> tuple[str, int, Debate]:
    """Read one answered turn: whose it is, which turn, and the view that ends with the response."""
    record = an_object(value, "")
    messages, place = within(record, "messages")
    asked = Debate(id=optional_text(record, "debate"), turns=turns_of(messages, place))
    if not asked.turns or asked.last.response is not None:
        raise Miss(place, "expected the last message to be the user's")
    content = _content(record, "")
    rest = {key: value for key, value in record.items() if key not in _RESPONSE}
    response = Response(content=content, arguments=arguments_of(record, ""), **rest)
    turn = record.get("turn", len(asked.turns) - 1)
    if not isinstance(turn, int) or isinstance(turn, bool) or turn < 0:
        raise Miss("turn", f"expected a turn's number, got {shown(turn)}")
    return asked.id, turn, asked.answered(response)


_RESPONSE = ("content", "arguments", "debate", "turn", "messages")


def response_record(debate: Debate, turn: int, response: Response) -> Record:
    """Write the response to the last turn of a debate, with the request it answers."""
    asked = debate.asked(len(debate.turns) - 1)
    messages = [{"role": one["role"], "content": one["content"]}
                for one in messages_of(asked.turns, (), ())]  # fmt: skip
    return {**body_of(response), "debate": debate.id, "turn": turn, "messages": messages}
