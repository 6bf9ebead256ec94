"""Read a judge's run line by line, with its problems.

`read_official` accepts what the official scorer accepts, and raises an error otherwise. `read_rows`
reads all that is valid; `alignment` reports the rest when it aligns the run with the labels.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError

from touche_rad import files
from touche_rad.debate import Debate, Maxim
from touche_rad.errors import InputError
from touche_rad.files.records import FieldError, numbered_lines
from touche_rad.files.simulations import parse_simulation
from touche_rad.score.result import ProblemKind

NO_SCORE = "the official scorer gives such a run no score (the default policy does)"

_number = TypeAdapter(float)


class _Score(BaseModel):
    score: float


class _Turn(BaseModel):
    Quantity: _Score
    Quality: _Score
    Relation: _Score
    Manner: _Score


class _Line(BaseModel):
    """A line in the official scorer's format; other fields are ignored."""

    userTurnsEvaluations: list[_Turn]


@dataclass(frozen=True)
class Read:
    """The score of one verdict, and its problem."""

    score: float | None
    trouble: ProblemKind | None = None
    said: str = ""


class Talk(NamedTuple):
    """What the scorer needs of the simulation in a line."""

    digest: str = ""
    """Of the whole simulation; empty if the line has none."""
    id: str = ""
    conversation: tuple[str, ...] = ()
    answered: tuple[int, ...] = ()


Talks = dict[str, Talk]
"""The simulations that were parsed before, by their digest: runs of several judges share them."""


_NO_TALK = Talk()


@dataclass(frozen=True)
class Row:
    """One line of a run. A lost debate has only its position."""

    line: int
    trouble: ProblemKind | None = None
    official: bool = False
    talk: Talk = _NO_TALK
    turns: tuple[Mapping[Maxim, Read], ...] = ()

    @property
    def id(self) -> str:
        """The id of the debate, if the line has one."""
        return self.talk.id

    @property
    def conversation(self) -> tuple[str, ...]:
        """A digest of each user turn with its response, answered or not."""
        return self.talk.conversation

    @property
    def answered(self) -> tuple[int, ...]:
        """The turns with a response; the official client judges only these."""
        return self.talk.answered


def digest(utterance: object, response: object) -> str:
    """Return a digest of a turn's words; white space does not matter."""
    return _hash("\x1f".join(" ".join(str(text or "").split()) for text in (utterance, response)))


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def digests(debate: Debate) -> tuple[str, ...]:
    """Return the digest of each turn of a debate."""
    return tuple(
        digest(turn.utterance, turn.response.content if turn.response else "")
        for turn in debate.turns
    )


def read_official(path: Path) -> list[list[Mapping[Maxim, float]]]:
    """Read a run like the official scorer: any fault is an error."""
    scores: list[list[Mapping[Maxim, float]]] = []
    for number, line in numbered_lines(path, verbatim=True):
        try:
            turns = _Line.model_validate_json(line).userTurnsEvaluations
        except ValidationError as error:
            raise _refusal(path, number, error) from None
        scores.append(
            [{maxim: getattr(turn, maxim.key).score for maxim in Maxim} for turn in turns]
        )
    return scores


def _refusal(path: Path, line: int, error: ValidationError) -> InputError:
    first = error.errors(include_input=False, include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or None
    message = f"{first['msg']}: {NO_SCORE}"
    return InputError(path, message, line=line, field=field)


def read_rows(
    path: Path, bad: files.BadLines | None = None, talks: Talks | None = None
) -> list[Row]:
    """Read all valid parts of a run, and the positions of lost debates."""
    bad, known = bad or files.BadLines(), {} if talks is None else talks
    rows: list[Row] = []
    for number, line in numbered_lines(path, bad, verbatim=True):
        while len(rows) < number - 1:  # a skipped line keeps its place
            rows.append(Row(len(rows) + 1, ProblemKind.BAD_LINE))
        rows.append(_row(path, number, line, bad, known))
    return rows


def _row(path: Path, number: int, line: str, bad: files.BadLines, talks: Talks) -> Row:
    if not line.strip():
        return Row(number, ProblemKind.BLANK)
    try:
        data = json.loads(line.removeprefix("\ufeff"))
        if not isinstance(data, dict):
            raise ValueError(f"expected an object, got {type(data).__name__}")
    except (ValueError, RecursionError) as error:
        bad.report(InputError(path, f"not a line of an evaluations file: {error}", line=number))
        return Row(number, ProblemKind.BAD_LINE)
    if not data:
        return Row(number, ProblemKind.LOST)
    simulation = _object(data.get("simulation"))
    return Row(
        line=number,
        trouble=ProblemKind.LOST if simulation.get("userTurns") == [] else None,
        official=_is_official(line),
        talk=_talk(data, talks),
        turns=tuple(_verdicts(_object(turn)) for turn in _array(data.get("userTurnsEvaluations"))),
    )


def _is_official(line: str) -> bool:
    try:
        _Line.model_validate_json(line)
    except ValidationError:
        return False
    return True


def _talk(data: dict[str, Any], talks: Talks) -> Talk:
    try:
        key = _hash(json.dumps({name: data.get(name) for name in ("id", "simulation")}))
    except RecursionError:
        return _NO_TALK
    if key not in talks:
        try:
            debate = parse_simulation(data, lenient=True)
        except FieldError:
            debate = Debate()
        talks[key] = Talk(
            digest=key if debate.turns else "",
            id=debate.id,
            conversation=digests(debate),
            answered=tuple(at for at, turn in enumerate(debate.turns) if turn.response is not None),
        )
    return talks[key]


def debate_at(path: Path, line: int) -> Debate:
    """Return the debate in a line of a run, for an error message."""
    text = next(text for number, text in numbered_lines(path, verbatim=True) if number == line)
    return parse_simulation(json.loads(text.removeprefix("\ufeff")), lenient=True)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _array(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _verdicts(turn: Mapping[str, Any]) -> dict[Maxim, Read]:
    return {maxim: _verdict(turn.get(maxim.key)) for maxim in Maxim}


def _verdict(given: object) -> Read:
    verdict = _object(given)
    if "score" not in verdict:
        return Read(None, ProblemKind.MISSING_VERDICT)
    score = verdict["score"]
    if score is None:
        return Read(None, ProblemKind.NULL_SCORE)
    try:
        number = _number.validate_python(score)
    except ValidationError:
        return Read(None, ProblemKind.BAD_SCORE, repr(score)[:40])
    odd = isinstance(score, str | bool) or not 0 <= number <= 1
    return Read(
        number,
        ProblemKind.ODD_SCORE if odd else None,
        repr(score)[:40] if odd else "",
    )
