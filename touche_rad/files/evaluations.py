"""Evaluations and labels: verdicts of judges and of people, one debate a line."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from touche_rad.debate import Debate, Maxim, Verdict, Verdicts
from touche_rad.files.record import Miss, Record, a_list, an_object, shown, within
from touche_rad.files.simulations import simulation_of, simulation_record

Labels = Mapping[Maxim, int | None]
_TURNS = "userTurnsEvaluations"


@dataclass(frozen=True)
class Evaluation:
    """A judged debate: verdicts on each turn, and what was said of the whole."""

    debate: Debate
    turns: tuple[Verdicts, ...]
    overall: Mapping[str, Any] = field(default_factory=dict)
    wire: Mapping[str, Any] = field(default_factory=dict, repr=False)


def evaluation_of(value: Any, number: int) -> Evaluation:
    """Read one line of evaluations; a maxim that is not there is left out."""
    record = an_object(value, "")
    turns, place = within(record, _TURNS)
    debate = (
        simulation_of(record, number) if "simulation" in record else Debate(id=f"debate-{number}")
    )
    overall = record.get("overallEvaluations")
    return Evaluation(
        debate=debate,
        turns=tuple(
            _verdicts(turn, f"{place}[{at}]") for at, turn in enumerate(a_list(turns, place))
        ),
        overall={} if overall is None else an_object(overall, "overallEvaluations"),
        wire=record,
    )


def _verdicts(value: Any, place: str) -> Verdicts:
    record = an_object(value, place)
    return {
        maxim: _verdict(record[maxim.key], f"{place}.{maxim.key}")
        for maxim in Maxim
        if maxim.key in record
    }


def _verdict(value: Any, place: str) -> Verdict:
    record = an_object(value, place)
    score, field_ = within(record, "score", place)
    if score is not None and not isinstance(score, int | float):
        raise Miss(field_, f"expected a number or null, got {shown(score)}")
    rest = {key: value for key, value in record.items() if key not in _VERDICT}
    rationale = record.get("explanation")
    return Verdict(
        score=None if score is None else float(score),
        rationale=rationale if isinstance(rationale, str) else "",
        **rest,
    )


_VERDICT = ("score", "explanation", "rationale")


def evaluation_record(evaluation: Evaluation) -> Record:
    """Write one line of evaluations; what was read and has not changed stands as it stood."""
    debate = evaluation.debate
    if evaluation.wire:
        number = debate.wire.get("number", 0)
        if evaluation_of(evaluation.wire, number) == evaluation:
            return dict(evaluation.wire)
    record: Record = copy.deepcopy(dict(evaluation.wire))
    record |= simulation_record(debate)
    record[_TURNS] = [_turn_record(verdicts) for verdicts in evaluation.turns]
    if evaluation.overall:
        record["overallEvaluations"] = dict(evaluation.overall)
    return record


def _turn_record(verdicts: Verdicts) -> Record:
    return {
        maxim.key: {
            "score": verdicts[maxim].score,
            "explanation": verdicts[maxim].rationale,
            **(verdicts[maxim].model_extra or {}),
        }
        for maxim in Maxim
        if maxim in verdicts
    }


def labels_of(value: Any) -> tuple[Labels, ...]:
    """Read the labels of one debate: 1, 0 or null for each maxim; other fields are kept."""
    if not isinstance(value, list):
        raise Miss("", f"expected a list with one object a turn, got {shown(value)}")
    return tuple(_labels(turn, f"[{number}]") for number, turn in enumerate(value))


def _labels(value: Any, place: str) -> Labels:
    record = an_object(value, place)
    labels: dict[Any, Any] = {}
    for key, label in record.items():
        if key not in _MAXIMS:
            labels[key] = label
            continue
        if label not in (0, 1, None) or isinstance(label, bool | float):
            raise Miss(f"{place}.{key}", f"expected 0, 1 or null, got {shown(label)}")
        labels[Maxim(key)] = label
    return labels


_MAXIMS = frozenset(maxim.value for maxim in Maxim)


def labels_record(turns: tuple[Labels, ...]) -> list[Record]:
    """Write the labels of one debate."""
    return [{str(key): label for key, label in turn.items()} for turn in turns]
