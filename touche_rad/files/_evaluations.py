"""Evaluations: the official client's simulations, with the verdicts on each turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from touche_rad.debate import Debate, Maxim, Verdict, Verdicts
from touche_rad.files.records import (
    FieldError,
    JsonObject,
    Line,
    dump,
    require_field,
    require_list,
    require_object,
    short_repr,
)
from touche_rad.files.simulations import drop_keys, renewed, simulation_of, simulation_record

_TURNS, _OVERALL, _DEBATE = "userTurnsEvaluations", "overallEvaluations", "simulation"
_EVALUATION = ("configuration", _TURNS, _OVERALL, "millisecondsEvaluation")
"""Fields of the evaluation that are not fields of the evaluated debate."""
_VERDICT = ("score", "explanation", "rationale")
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
    return replace(evaluation, wire={"record": line.raw, "read": evaluation})


def evaluated_debate(line: Line) -> Debate:
    """Parse the evaluated debate, without the evaluation."""
    record = require_object(line.value, "")
    if _DEBATE not in record:
        return Debate(id=f"debate-{line.number}")
    bare = line._replace(value=drop_keys(record, _EVALUATION), raw=drop_keys(line.raw, _EVALUATION))
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
    )


def _score(score: Any, place: str) -> float | None:
    if score is None:
        return None
    if isinstance(score, int | float):
        try:
            return float(score)
        except OverflowError:
            pass
    raise FieldError(place, f"expected a number or null, got {short_repr(score)}")


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
    return {
        maxim.key: {
            "score": verdicts[maxim].score,
            "explanation": verdicts[maxim].rationale,
            **drop_keys(verdicts[maxim].extra, _VERDICT),
        }
        for maxim in Maxim
        if maxim in verdicts
    }
