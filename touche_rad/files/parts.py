"""Arguments, responses and turns, as they stand inside the official files."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from touche_rad.debate import Argument, Response, Turn
from touche_rad.files.record import Miss, Record, a_list, a_text, an_object, shown, within


def argument_of(value: Any, place: str) -> Argument:
    """Read an argument."""
    try:
        return Argument.model_validate(an_object(value, place))
    except ValidationError as error:
        first = error.errors()[0]
        inner = ".".join(str(step) for step in first["loc"])
        raise Miss(f"{place}.{inner}" if place else inner, _expected(first)) from None


def _expected(error: Any) -> str:
    if error["type"] == "missing":
        return "missing"
    wanted = {"string_type": "text", "tuple_type": "a list"}.get(error["type"], error["msg"])
    return f"expected {wanted}, got {shown(error['input'])}"


def arguments_of(record: Record, place: str) -> tuple[Argument, ...]:
    """Read a list of arguments that may be missing or null."""
    found = record.get("arguments")
    if found is None:
        return ()
    field = f"{place}.arguments"
    return tuple(
        argument_of(value, f"{field}[{number}]")
        for number, value in enumerate(a_list(found, field))
    )


def plain(word: BaseModel) -> Record:
    """Write what was set and nothing else.

    Not in pydantic's JSON mode, which refuses the lone surrogates that files do hold.
    """
    return word.model_dump(exclude_unset=True)


def body_of(response: Response) -> Record:
    """Write the official body of a response; the arguments are always a list."""
    rest = {key: value for key, value in plain(response).items() if key not in _BODY}
    cited = [plain(argument) for argument in response.arguments]
    return {"content": response.content, "arguments": cited, **rest}


_BODY = ("content", "arguments")


def user_turn_of(value: Any, place: str) -> Turn:
    """Read one of the official client's user turns, with the system's response if there is one."""
    record = an_object(value, place)
    utterance = a_text(*within(record, "utterance", place))
    rest = {key: value for key, value in record.items() if key not in ("utterance", _SYSTEM)}
    rest.pop("response", None)
    system = record.get(_SYSTEM)
    if system is None:
        return Turn(utterance=utterance, **rest)
    response = _system_response(an_object(system, f"{place}.{_SYSTEM}"), f"{place}.{_SYSTEM}")
    return Turn(utterance=utterance, response=response, **rest)


_SYSTEM = "systemResponse"


def _system_response(system: Record, place: str) -> Response:
    body = system.get("response")
    body = {} if body is None else an_object(body, f"{place}.response")
    content = system.get("utterance", body.get("content"))
    if content is None:
        raise Miss(f"{place}.utterance", "expected text, got nothing")
    rest = {key: value for key, value in body.items() if key not in _BODY}
    return Response(
        content=a_text(content, f"{place}.utterance"),
        arguments=arguments_of(body, f"{place}.response"),
        **rest,
    )


def user_turn(turn: Turn) -> Record:
    """Write a turn in the official client's shape."""
    rest = {
        key: value for key, value in plain(turn).items() if key not in ("utterance", "response")
    }
    record: Record = {"utterance": turn.utterance, **rest}
    if turn.response is not None:
        body = body_of(turn.response)
        record[_SYSTEM] = {"utterance": turn.response.content, "response": body}
    return record
