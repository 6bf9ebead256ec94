"""What kind of file it is, told by its first lines and never by its name."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from touche_rad.errors import InputError
from touche_rad.files.claims import CLAIM
from touche_rad.files.lines import BadLines, Place, numbered_lines
from touche_rad.files.record import EMPTY_RECORD, Miss, parse


class Kind(StrEnum):
    """The kinds of official files."""

    SIMULATIONS = "simulations"
    ANNOTATED = "annotated debates"
    CHAT = "chat messages"
    CLAIMS = "claims"
    RESPONSES = "responses"
    EVALUATIONS = "evaluations"
    LABELS = "labels"
    ARGUMENTS = "arguments"
    RUN = "a TREC run"
    QRELS = "qrels"


DEBATES = frozenset((Kind.SIMULATIONS, Kind.ANNOTATED, Kind.CHAT, Kind.RESPONSES, Kind.EVALUATIONS))
"""The kinds that hold debates with turns."""

_LOOKED_AT = 100


def recognise(path: Place) -> Kind:
    """Return the kind of a file; its first line that shows it decides."""
    told = "is empty: expected at least one line"
    for looked, (number, line) in enumerate(numbered_lines(path, BadLines(skip=True))):
        kind = _of_text(line) if line.lstrip()[:1] not in ("{", "[") else _of_json(line)
        if kind is not None:
            return kind
        if not looked:
            empty = line.strip() == "{}"
            kinds = ", ".join(kind.value for kind in Kind)
            told = EMPTY_RECORD if empty else f"line {number} is of no known kind ({kinds})"
        if looked >= _LOOKED_AT:
            break
    raise InputError(path, told)


def _of_text(line: str) -> Kind | None:
    if CLAIM in (cell.strip() for cell in line.split("\t")):
        return Kind.CLAIMS
    row = line.split()
    if len(row) == 6 and _is_number(row[4]) and _is_number(row[3]):
        return Kind.RUN
    if len(row) == 4 and _is_number(row[3]):
        return Kind.QRELS
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _of_json(line: str) -> Kind | None:
    try:
        value: Any = parse(line)
    except Miss:
        return _of_broken(line)
    if isinstance(value, list):
        return Kind.LABELS
    if _is_configuration(value):
        return None
    for key, kind in _KEYS:
        if key in value:
            return kind
    if isinstance(value.get("debate"), list):
        return Kind.ANNOTATED
    if "messages" in value:
        return Kind.RESPONSES if "content" in value else Kind.CHAT
    return Kind.ARGUMENTS if "text" in value or "attacks" in value else None


_KEYS = (
    ("userTurnsEvaluations", Kind.EVALUATIONS),
    ("simulation", Kind.SIMULATIONS),
    ("simulated_debate", Kind.ANNOTATED),
)


def _is_configuration(value: Any) -> bool:
    """The official client's configuration has a `simulation` too, but nobody speaks in it."""
    simulation = value.get("simulation")
    return isinstance(simulation, dict) and "topic" in simulation and "userTurns" not in simulation


def _of_broken(line: str) -> Kind | None:
    """A line cut in half still shows its first key: the right reader then tells what is wrong."""
    keys = (*_KEYS, *_LATER) if '"userTurns"' in line else (*_KEYS[2:], *_LATER)
    found = [(line.find(f'"{key}"'), kind) for key, kind in keys if f'"{key}"' in line]
    return min(found)[1] if found else None


_LATER = (("messages", Kind.CHAT), ("text", Kind.ARGUMENTS))
