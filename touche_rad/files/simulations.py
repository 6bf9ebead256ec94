"""Simulations (what the official client writes, one debate a line), and their evaluations.

`parse_simulation` is the only parser of simulations. Files use it strictly: a wrong field is an
error with file and line. The server and the scorer use it with `lenient`: the official client sends
back whatever a system once answered, and one refused request ends its whole evaluation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from touche_rad.debate import Argument, Debate, Maxim, Response, Turn, Verdict, Verdicts
from touche_rad.errors import InputProblem
from touche_rad.files.records import (
    FieldError,
    JsonObject,
    Line,
    drop_keys,
    dump,
    field_error,
    keep_record,
    optional_text,
    original_record,
    renewed,
    require_field,
    require_list,
    require_object,
    require_text,
    short_repr,
    write_debate,
)

ANNOTATED, SIMULATIONS = "annotated", "simulations"
SYSTEM = "systemResponse"
_NAMED = ("id", "claim", "description", "debate", "simulated_debate")
_BODY = ("content", "arguments")
_TEXTS = ("topic", "attacks", "supports")
_LISTS = ("tags", "references")


def argument_of(value: Any, place: str = "", *, lenient: bool = False) -> Argument:
    """Parse an argument; a null text or list is read as if it were missing."""
    record = _lenient_argument(value) if lenient else require_object(value, place)
    nulls = [key for key in (*_TEXTS, *_LISTS) if record.get(key, "") is None]
    try:
        return Argument.model_validate(drop_keys(record, nulls) if nulls else record)
    except ValidationError as error:
        raise field_error(error, f"{place}." if place else "") from None


def _lenient_argument(value: Any) -> JsonObject:
    """Return an argument as an object, without fields of a wrong type; `id` and `text` are texts.

    A text alone is an id, or a text if it has spaces.
    """
    if not isinstance(value, dict):
        text = lenient_text(value)
        value = {"text": text} if " " in text else {"id": text}
    wrong = [key for key in (*_TEXTS, "original") if not isinstance(value.get(key), str | None)]
    for key in _LISTS:
        texts = value.get(key)
        if texts is not None and not (
            isinstance(texts, list) and all(isinstance(one, str) for one in texts)
        ):
            wrong.append(key)
    required = {key: lenient_text(value.get(key)) for key in ("id", "text")}
    return {**drop_keys(value, wrong), **required}


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
    return keep_record(debate, SIMULATIONS, line.value)


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
        **drop_keys(original_record(debate, ANNOTATED) or {}, _NAMED),
        "simulation": {"configuration": configuration, "userTurns": turns},
    }


_TURNS, _OVERALL, _DEBATE = "userTurnsEvaluations", "overallEvaluations", "simulation"
_EVALUATION = ("configuration", _TURNS, _OVERALL, "millisecondsEvaluation")
"""Fields of the evaluation that are not fields of the evaluated debate."""
_VERDICT = ("score", "explanation", "rationale", "fallback")
_EARLIER_FALLBACKS = ("no verdict (", "no verdict: it is missing in the run")
"""Beginnings of the explanations of fallbacks, which earlier versions wrote without the field."""
_KEYS = tuple(maxim.key for maxim in Maxim)


@dataclass(frozen=True)
class Evaluation:
    """A judged debate: verdicts on each turn, and the overall evaluation."""

    debate: Debate
    turns: tuple[Verdicts, ...]
    overall: Mapping[str, Any] = field(default_factory=dict)
    wire: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The record and the evaluation as read; only for touche_rad.files."""


def evaluation_of(line: Line) -> Evaluation:
    """Parse one line of evaluations; missing maxims are left out."""
    record = require_object(line.value, "")
    turns, place = require_field(record, _TURNS)
    overall = record.get(_OVERALL)
    evaluation = Evaluation(
        debate=evaluated_debate(line),
        turns=tuple(
            _verdicts(turn, f"{place}[{number}]")
            for number, turn in enumerate(require_list(turns, place))
        ),
        overall={} if overall is None else require_object(overall, _OVERALL),
    )
    return replace(evaluation, wire={"record": line.value, "read": evaluation})


def evaluated_debate(line: Line) -> Debate:
    """Parse the evaluated debate, without the evaluation."""
    record = require_object(line.value, "")
    if _DEBATE not in record:
        return Debate(id=f"debate-{line.number}")
    bare = line._replace(value=drop_keys(record, _EVALUATION))
    return simulation_of(bare)


def _verdicts(value: Any, place: str) -> Verdicts:
    record = require_object(value, place)
    return {
        maxim: _verdict(record[maxim.key], f"{place}.{maxim.key}")
        for maxim in Maxim
        if maxim.key in record
    }


def _verdict(value: Any, place: str) -> Verdict:
    record = require_object(value, place)
    rationale = record.get("explanation")
    return Verdict(
        score=_score(*require_field(record, "score", place)),
        rationale=rationale if isinstance(rationale, str) else "",
        extra=drop_keys(record, _VERDICT),
        fallback=is_fallback(record),
    )


def is_fallback(verdict: JsonObject) -> bool:
    """Return whether the score of a verdict in a file is a fallback's."""
    explanation = verdict.get("explanation")
    return verdict.get("fallback") is True or (
        isinstance(explanation, str) and explanation.startswith(_EARLIER_FALLBACKS)
    )


def _score(score: Any, place: str) -> float | None:
    if score is None:
        return None
    if isinstance(score, int | float):
        try:
            return float(score)
        except OverflowError:
            pass
    problem = InputProblem.TEXT_SCORE if isinstance(score, str) else None
    raise FieldError(place, f"expected a number or null, got {short_repr(score)}", problem)


def evaluation_line(evaluation: Evaluation) -> str:
    """Write a judged debate; unchanged parts of the record it was read from are kept."""
    old: JsonObject = evaluation.wire.get("record", {})
    read: Evaluation = evaluation.wire.get("read", evaluation)
    record = dict(old)
    if _DEBATE in old or not old or read.debate != evaluation.debate:
        record |= simulation_record(evaluation.debate)
    turns = [_turn_record(turn) for turn in evaluation.turns]
    before = [_turn_record(turn) for turn in read.turns] if old else []
    record[_TURNS] = renewed(old.get(_TURNS, []), before, turns, _KEYS)
    for number, (then, turn) in enumerate(zip(before, turns, strict=False)):
        if then != turn:  # the time that the earlier judge needed
            record[_TURNS][number].pop("milliseconds", None)
    if read.overall != evaluation.overall or (evaluation.overall and not old):
        record[_OVERALL] = dict(evaluation.overall)
    return dump(record)


def _turn_record(verdicts: Verdicts) -> JsonObject:
    return {maxim.key: _verdict_record(verdicts[maxim]) for maxim in Maxim if maxim in verdicts}


def _verdict_record(verdict: Verdict) -> JsonObject:
    record: JsonObject = {"score": verdict.score, "explanation": verdict.rationale}
    if verdict.fallback:
        record["fallback"] = True
    return record | drop_keys(verdict.extra, _VERDICT)
