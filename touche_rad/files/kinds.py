"""What kind of file it is, told by its first lines and never by its name."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from touche_rad.errors import InputError
from touche_rad.files.claims import CLAIM, USER
from touche_rad.files.records import (
    EMPTY_RECORD,
    BadLines,
    FieldError,
    Place,
    numbered_lines,
    parse,
    short_repr,
)


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
    CONTESTS = "contests"
    OUTCOMES = "outcomes"


DEBATES = frozenset((Kind.SIMULATIONS, Kind.ANNOTATED, Kind.CHAT, Kind.RESPONSES, Kind.EVALUATIONS))
"""The kinds that hold debates with turns."""

_LOOKED_AT = 100


def detect_kind(path: Place) -> Kind:
    """Return the kind of a file; its first line that shows it decides."""
    bad = BadLines(skip=True)
    told: InputError | None = None
    looked = 0
    for number, line in numbered_lines(path, bad):
        kind = _of_json(line) if _may_be_json(line) else _of_text(line)
        if kind is not None:
            return kind
        told = told or InputError(path, _told(line), line=number)
        looked += line.strip() != "{}"  # however many debates a run lost, the next one shows it
        if looked == _LOOKED_AT:
            break
    faults = [fault for fault in (bad.first, told) if fault is not None]
    if not faults:
        raise InputError(path, "is empty: expected at least one line")
    raise min(faults, key=lambda fault: fault.line or 0)


def _may_be_json(line: str) -> bool:
    return line.lstrip()[:1] in ("{", "[")


def _told(line: str) -> str:
    """Say what is wrong with a line that shows no kind."""
    try:
        empty = _may_be_json(line) and parse(line) == {}
    except FieldError as miss:
        return f"{miss.expected}; one whole record a line is expected"
    kinds = ", ".join(kind.value for kind in Kind)
    return EMPTY_RECORD if empty else f"is of no known kind ({kinds}), got {short_repr(line)}"


def _of_text(line: str) -> Kind | None:
    cells = [cell.strip() for cell in line.split("\t")]
    if CLAIM in cells or (USER in cells and len(cells) > 1):
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
        value = parse(line)
    except FieldError:
        return _of_broken(line)
    return kind_of(value)


def kind_of(value: Any) -> Kind | None:
    """Return the kind whose record a JSON value is."""
    if isinstance(value, list):
        return Kind.LABELS
    if not isinstance(value, dict) or _is_configuration(value):
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
    ("speeches", Kind.CONTESTS),
    ("outcome", Kind.OUTCOMES),
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
