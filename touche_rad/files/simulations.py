"""Simulations: what the official client writes, one debate a line.

`parse_simulation` is the only parser of this shape. Files use it strictly: a wrong field is an
error with file and line. The server and the scorer use it with `lenient`: the official client sends
back whatever a system once answered, and one refused request ends its whole evaluation.
"""

from __future__ import annotations

from typing import Any

from touche_rad.debate import Debate, Turn
from touche_rad.files.parts import (
    ANNOTATED,
    SIMULATIONS,
    SYSTEM,
    as_read,
    drop_keys,
    keeping,
    kept_record,
    same,
    system_response,
    unnamed,
    user_turn,
    user_turn_of,
)
from touche_rad.files.records import (
    JsonObject,
    Line,
    optional_text,
    require_field,
    require_list,
    require_object,
)


def simulation_of(line: Line) -> Debate:
    """Parse one line of simulations."""
    debate = parse_simulation(require_object(line.value, ""))
    if not debate.id:
        debate = debate.model_copy(update={"id": f"debate-{line.number}"})
    return keeping(debate, SIMULATIONS, line.raw)


def parse_simulation(
    record: JsonObject, *, lenient: bool = False, last_turn: int | None = None
) -> Debate:
    """Parse a record with the key `simulation`.

    Args:
        record: The record.
        lenient: Accept missing texts, and null, numbers and booleans as texts; ignore other
            fields of a wrong type.
        last_turn: Parse no turn after this one (default: all).

    Raises:
        FieldError: A field is missing or has a wrong type.
    """
    simulation, place = require_field(record, "simulation")
    simulation = require_object(simulation, place)
    turns, field = require_field(simulation, "userTurns", place)
    turns = require_list(turns, field)
    topic, user = _configuration(simulation, lenient)
    description = record.get("description")
    return Debate(
        id=_id(record, simulation),
        claim=topic,
        description=description if isinstance(description, str) else "",
        user=user,
        turns=tuple(
            user_turn_of(turn, f"{field}[{number}]", lenient=lenient)
            for number, turn in enumerate(turns[: None if last_turn is None else last_turn + 1])
        ),
    )


def _id(record: JsonObject, simulation: JsonObject) -> str:
    found = record.get("id", simulation.get("id"))
    return found if isinstance(found, str) else ""


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


def simulation_record(debate: Debate) -> JsonObject:
    """Write a debate as one line of simulations: what the file said besides stands as it stood."""
    old = kept_record(debate, SIMULATIONS)
    if old is not None:
        return _renewed(debate, old, as_read(debate))
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


def _renewed(debate: Debate, old: JsonObject, before: Debate) -> JsonObject:
    simulation = dict(old["simulation"])
    if debate.turns is not before.turns:
        simulation["userTurns"] = [
            _renewed_turn(turn, number, before, old) for number, turn in enumerate(debate.turns)
        ]
    if (debate.claim, debate.user) != (before.claim, before.user):
        simulation["configuration"] = _renewed_configuration(
            simulation.get("configuration") or {}, debate, before
        )
    record = {**old, "simulation": simulation}
    for name in ("id", "description"):
        if getattr(debate, name) != getattr(before, name):
            record[name] = getattr(debate, name)
    return record


def _renewed_turn(turn: Turn, number: int, before: Debate, old: JsonObject) -> JsonObject:
    if number >= len(before.turns):
        return user_turn(turn)
    then, stood = before.turns[number], old["simulation"]["userTurns"][number]
    if same(then, turn):
        return dict(stood)
    heard = (then.utterance, then.model_extra) == (turn.utterance, turn.model_extra)
    spoken = drop_keys(stood if heard else user_turn(turn), (SYSTEM,))
    if turn.response is not None:
        unchanged = same(then.response, turn.response)
        spoken[SYSTEM] = stood[SYSTEM] if unchanged else system_response(turn.response)
    return spoken


def _renewed_configuration(old: Any, debate: Debate, before: Debate) -> JsonObject:
    configuration = dict(old)
    if debate.claim != before.claim:
        topic = configuration.get("topic") or {}
        configuration["topic"] = {**topic, "description": debate.claim}
    if debate.user != before.user:
        user = configuration.get("user")
        rest = user if isinstance(user, dict) else {}
        configuration["user"] = {**rest, "model": debate.user}
    return configuration
