"""Simulations (what the official client writes, one debate a line).

`parse_simulation` is the only parser of simulations. Files use it strictly: a wrong field is an
error with file and line. The server and the scorer use it with `lenient`: the official client sends
back whatever a system once answered, and one refused request ends its whole evaluation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pydantic import (
    BaseModel,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from touche_rad.debate import Argument, Debate, Response, Turn
from touche_rad.files.records import (
    FieldError,
    JsonObject,
    Line,
    dump,
    field_error,
    optional_text,
    require_field,
    require_list,
    require_object,
    require_text,
)

ANNOTATED, SIMULATIONS = "annotated", "simulations"


def keep_record(debate: Debate, kind: str, record: JsonObject, turn: int = 0) -> Debate:
    """Return the debate with the record from which it was read."""
    wire = {"kind": kind, "record": record, "read": debate, "turn": turn}
    return debate.model_copy(update={"wire": wire})


def original_record(debate: Debate, kind: str) -> JsonObject | None:
    """Return the record from which it was read, if it was of this kind."""
    return debate.wire["record"] if debate.wire.get("kind") == kind else None


_CONTENT = ("debate", "simulated_debate", "simulation", "userTurnsEvaluations")
_NAMED = frozenset(("id", "claim", "description", *_CONTENT))


def unnamed(debate: Debate, kind: str) -> JsonObject:
    """Return the unknown top-level fields of a record of this kind."""
    return drop_keys(original_record(debate, kind) or {}, _NAMED)


def write_debate(
    debate: Debate, kind: str, write: Callable[[Debate], JsonObject], whole: Collection[str] = ()
) -> JsonObject:
    """Return the record of a debate; what has not changed since it was read is as in its file."""
    old = original_record(debate, kind)
    if old is None:
        return write(debate)
    before: Debate = debate.wire["read"]
    if debate.model_copy(update={"wire": before.wire}) == before:
        return old
    record: JsonObject = renewed(old, write(before), write(debate), whole)
    return record


def renewed(old: Any, before: Any, now: Any, whole: Collection[str] = ()) -> Any:
    """Return a value as we write it now, with what the file (`old`) has and we do not read.

    `before` is how we would write what was read from `old`. Values of the keys `whole` are replaced
    as a whole if anything in them has changed.
    """
    if before == now:
        return old
    if isinstance(now, list) and isinstance(before, list) and isinstance(old, list):
        pairs = zip(old, before, now, strict=False)
        unchanged = [renewed(*one, whole) for one in pairs]
        return unchanged + now[len(unchanged) :]
    if not (isinstance(now, dict) and isinstance(before, dict)):
        return now
    old = old if isinstance(old, dict) else {}
    record = {key: value for key, value in old.items() if key in now or key not in before}
    for key, value in now.items():
        if key not in before and key not in old:
            record[key] = value
        elif key not in before or before[key] != value:
            then = before.get(key, {})
            record[key] = value if key in whole else renewed(old.get(key), then, value, whole)
    return record


SYSTEM = "systemResponse"
_BODY = ("content", "arguments")
_TEXTS = ("topic", "attacks", "supports")
_LISTS = ("tags", "references")


class _WithNulls(Argument):
    """An argument with null texts or lists, which are written as null again."""

    _nulls: tuple[str, ...] = PrivateAttr(default=())

    @model_serializer(mode="wrap")
    def _as_it_stood(self, written: SerializerFunctionWrapHandler) -> JsonObject:
        record: JsonObject = written(self)
        return record | {key: None for key in self._nulls if not record.get(key)}


def argument_of(value: Any, place: str = "", *, lenient: bool = False) -> Argument:
    """Parse an argument; null texts and lists are read as empty and written as null again."""
    record = _lenient_argument(value) if lenient else require_object(value, place)
    if lenient:  # `id` and `text` as text, and without other fields of a wrong type
        texts = {key: lenient_text(record.get(key)) for key in ("id", "text")}
        wrong = [
            key for key in (*_TEXTS, "original") if not isinstance(record.get(key), str | None)
        ]
        wrong += [key for key in _LISTS if not _is_list_of_texts(record.get(key))]
        record = {**drop_keys(record, wrong), **texts}
    nulls = tuple(key for key in (*_TEXTS, *_LISTS) if record.get(key, "") is None)
    try:
        if not nulls:
            return Argument.model_validate(record)
        null_texts = [key for key in nulls if key in _TEXTS]
        argument = _WithNulls.model_validate(drop_keys(record, null_texts))
    except ValidationError as error:
        raise field_error(error, f"{place}." if place else "") from None
    argument._nulls = nulls
    return argument


def _lenient_argument(value: Any) -> JsonObject:
    """Return an argument as an object; a text alone is an id, or a text if it has spaces."""
    if isinstance(value, dict):
        return value
    text = lenient_text(value)
    return {"text": text} if " " in text else {"id": text}


def _is_list_of_texts(value: Any) -> bool:
    is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return value is None or is_list


def arguments_of(record: JsonObject, place: str, *, lenient: bool = False) -> tuple[Argument, ...]:
    """Parse a list of arguments; it may be missing or null."""
    arguments = record.get("arguments")
    if arguments is None:
        return ()
    field = f"{place}.arguments" if place else "arguments"
    if lenient and not isinstance(arguments, list):
        arguments = [arguments]
    return tuple(
        argument_of(value, f"{field}[{number}]", lenient=lenient)
        for number, value in enumerate(require_list(arguments, field))
    )


def content_of(content: Any, field: str) -> str:
    """Parse what a system said; null is empty, and a number is its digits."""
    if content is None:
        return ""
    if isinstance(content, int | float) and not isinstance(content, bool):
        return str(content)
    return require_text(content, field)


def lenient_text(value: Any) -> str:
    """Parse a text where clients may send any JSON value.

    A list of parts such as `{"type": "text", "text": "..."}` is its texts; another object or list
    is written as JSON.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str | dict) for one in value):
        texts = [one if isinstance(one, str) else one.get("text") for one in value]
        if all(isinstance(one, str) for one in texts):
            return " ".join(texts)
    return str(value) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def drop_keys(record: Mapping[str, Any], keys: Collection[str]) -> JsonObject:
    """Return the record without these fields."""
    if not record.keys() - keys:
        return {}
    return {key: value for key, value in record.items() if key not in keys}


def plain(word: BaseModel) -> JsonObject:
    """Return the fields that were set.

    Without pydantic's JSON mode, which refuses lone surrogates.
    """
    return word.model_dump(exclude_unset=True)


def body_of(response: Response) -> JsonObject:
    """Write the official body of a response; the arguments are always a list."""
    cited = [plain(argument) for argument in response.arguments]
    rest = drop_keys(response.extra, _BODY)
    return {"content": response.content, "arguments": cited, **rest}


def user_turn_of(value: Any, place: str, *, lenient: bool = False) -> Turn:
    """Parse one of the official client's user turns, with the system's response if it has one."""
    if lenient and not isinstance(value, dict):
        return Turn(utterance=lenient_text(value))
    record = require_object(value, place)
    if lenient:
        utterance = lenient_text(record.get("utterance"))
    else:
        utterance = require_text(*require_field(record, "utterance", place))
    rest = drop_keys(record, ("utterance", "response", SYSTEM))
    system = record.get(SYSTEM)
    if system is None:
        return Turn(utterance=utterance, **rest)
    place = f"{place}.{SYSTEM}"
    if lenient and not isinstance(system, dict):
        system = {"utterance": system}
    response = _response_of(require_object(system, place), place, lenient)
    return Turn(utterance=utterance, response=response, **rest)


def _response_of(system: JsonObject, place: str, lenient: bool) -> Response:
    body = system.get("response")
    if lenient and not isinstance(body, dict | None):
        body = {"content": body}
    body = {} if body is None else require_object(body, f"{place}.response")
    content = system.get("utterance")
    if content is None:
        if "utterance" not in system and "content" not in body and not lenient:
            raise FieldError(f"{place}.utterance", "missing")
        content = body.get("content")
    return Response(
        content=lenient_text(content) if lenient else content_of(content, f"{place}.utterance"),
        arguments=arguments_of(body, f"{place}.response", lenient=lenient),
        extra=drop_keys(body, _BODY),
    )


def user_turn(turn: Turn) -> JsonObject:
    """Write a turn in the official client's shape."""
    record = {**drop_keys(turn.model_extra or {}, (SYSTEM,)), "utterance": turn.utterance}
    if turn.response is not None:
        record[SYSTEM] = system_response(turn.response)
    return record


def system_response(response: Response) -> JsonObject:
    """Write a response in the official client's shape."""
    return {"utterance": response.content, "response": body_of(response)}


def simulation_of(line: Line) -> Debate:
    """Parse one line of simulations."""
    debate = parse_simulation(require_object(line.value, ""))
    if not debate.id:
        debate = debate.model_copy(update={"id": f"debate-{line.number}"})
    return keep_record(debate, SIMULATIONS, line.raw)


def parse_simulation(
    record: JsonObject, *, lenient: bool = False, last_turn: int | None = None
) -> Debate:
    """Parse a record with the key `simulation`.

    With `lenient`, missing texts, null, numbers and booleans are texts, and other fields of a wrong
    type are ignored. No turn after `last_turn` is parsed.

    Raises:
        FieldError: A field is missing or has a wrong type.
    """
    simulation, place = require_field(record, "simulation")
    simulation = require_object(simulation, place)
    turns, field = require_field(simulation, "userTurns", place)
    turns = require_list(turns, field)
    topic, user = _configuration(simulation, lenient)
    name, description = record.get("id", simulation.get("id")), record.get("description")
    return Debate(
        id=name if isinstance(name, str) else "",
        claim=topic,
        description=description if isinstance(description, str) else "",
        user=user,
        turns=tuple(
            user_turn_of(turn, f"{field}[{number}]", lenient=lenient)
            for number, turn in enumerate(turns[: None if last_turn is None else last_turn + 1])
        ),
    )


def _configuration(simulation: JsonObject, lenient: bool) -> tuple[str, str]:
    """Return the claim and the simulated user's name, where the record has them."""
    place = "simulation.configuration"
    configuration = simulation.get("configuration")
    if configuration is None or (lenient and not isinstance(configuration, dict)):
        return "", ""
    configuration = require_object(configuration, place)
    topic = configuration.get("topic") or {}
    if lenient and not isinstance(topic, dict):
        topic = {}
    topic = require_object(topic, f"{place}.topic")
    if lenient and not isinstance(topic.get("description"), str):
        topic = {}
    claim = optional_text(topic, "description", f"{place}.topic")
    user = configuration.get("user")
    model = user.get("model") if isinstance(user, dict) else ""
    return claim, model if isinstance(model, str) else ""


def has_configuration(debate: Debate) -> bool:
    """Whether a simulation has a configuration, which the format check of TIRA requires."""
    record = original_record(debate, SIMULATIONS)
    return record is None or isinstance(record["simulation"].get("configuration"), dict)


def simulation_line(debate: Debate) -> str:
    """Write a debate as the official client does."""
    return dump(simulation_record(debate))


def simulation_record(debate: Debate) -> JsonObject:
    """Return a debate as a simulation; other fields of the record it was read from are kept."""
    return write_debate(debate, SIMULATIONS, _simulation, (SYSTEM,))


def _simulation(debate: Debate) -> JsonObject:
    configuration: JsonObject = {"topic": {"description": debate.claim}}
    if debate.user:
        configuration["user"] = {"model": debate.user}
    turns = [user_turn(turn) for turn in debate.turns]
    head = {"id": debate.id, "description": debate.description}
    return {
        **{key: text for key, text in head.items() if text},
        **unnamed(debate, ANNOTATED),
        "simulation": {"configuration": configuration, "userTurns": turns},
    }
