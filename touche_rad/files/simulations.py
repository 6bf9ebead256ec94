"""Simulations: what the official client writes, one debate a line."""

from __future__ import annotations

import copy
from typing import Any

from touche_rad.debate import Debate, Turn
from touche_rad.files.parts import user_turn, user_turn_of
from touche_rad.files.record import Miss, Record, a_list, a_text, an_object, within

KIND = "simulations"


def simulation_of(value: Any, number: int) -> Debate:
    """Read one line of simulations."""
    record = an_object(value, "")
    simulation, place = within(record, "simulation")
    simulation = an_object(simulation, place)
    turns, field = within(simulation, "userTurns", place)
    topic, user = _configuration(simulation)
    return Debate(
        id=_id(record, simulation) or f"debate-{number}",
        claim=topic,
        user=user,
        turns=tuple(
            user_turn_of(turn, f"{field}[{place_}]")
            for place_, turn in enumerate(a_list(turns, field))
        ),
        wire={"kind": KIND, "record": record, "number": number},
    )


def _id(record: Record, simulation: Record) -> str:
    found = record.get("id", simulation.get("id"))
    return found if isinstance(found, str) else ""


def _configuration(simulation: Record) -> tuple[str, str]:
    place = "simulation.configuration"
    configuration = simulation.get("configuration")
    if configuration is None:
        return "", ""
    configuration = an_object(configuration, place)
    topic = configuration.get("topic") or {}
    description = an_object(topic, f"{place}.topic").get("description") or ""
    user = configuration.get("user") or {}
    model = user.get("model") if isinstance(user, dict) else ""
    if not isinstance(description, str):
        raise Miss(f"{place}.topic.description", "expected text")
    return a_text(description, place), model if isinstance(model, str) else ""


def simulation_record(debate: Debate) -> Record:
    """Write a debate as one line of simulations: what the file said besides stands as it stood."""
    if debate.wire.get("kind") == KIND:
        return _renewed(debate)
    configuration: Record = {"topic": {"description": debate.claim}}
    if debate.user:
        configuration["user"] = {"model": debate.user}
    turns = [user_turn(turn) for turn in debate.turns]
    record: Record = {"simulation": {"configuration": configuration, "userTurns": turns}}
    return {"id": debate.id, **record} if debate.id else record


def _renewed(debate: Debate) -> Record:
    before = simulation_of(debate.wire["record"], debate.wire["number"])
    if before == debate:
        return dict(debate.wire["record"])
    record = copy.deepcopy(debate.wire["record"])
    simulation = record["simulation"]
    old = simulation["userTurns"]
    simulation["userTurns"] = [
        _renewed_turn(old[place], before.turns[place], turn)
        if place < len(before.turns)
        else user_turn(turn)
        for place, turn in enumerate(debate.turns)
    ]
    if debate.claim != before.claim:
        configuration = simulation.setdefault("configuration", {})
        configuration["topic"] = {**configuration.get("topic", {}), "description": debate.claim}
    if debate.id != before.id:
        record["id"] = debate.id
    return dict(record)


def _renewed_turn(old: Record, before: Turn, now: Turn) -> Record:
    if before == now:
        return old
    fresh = user_turn(now)
    if before.response == now.response and "systemResponse" in old:
        fresh["systemResponse"] = old["systemResponse"]
    return fresh
