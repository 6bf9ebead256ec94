"""Contests and panels' verdicts on them, one record per line."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator

from touche_rad.contest import Contest, Outcome
from touche_rad.files.models import FileRecord, validate
from touche_rad.files.records import FieldError, Line, drop_keys, dump, require_object

FORMAT: Final = 1
"""The format of contests and of verdicts on them, in each line."""


class ContestLine(Contest):
    """A whole debate as speeches of two sides."""

    format: Literal[1] = 1


_AnyText = Annotated[str, BeforeValidator(str)]


class Judgement(FileRecord):
    """A panel's verdict on a contest, and that on the contest with the sides swapped."""

    format: Literal[1] = 1
    id: str
    judge: _AnyText = ""
    outcome: Outcome
    swapped: Outcome | None = None
    words: _AnyText = ""
    """The digest of the contest's words; empty in older files."""


def words_digest(contest: Contest) -> str:
    """Return the SHA-256 digest of the motion and the speeches."""
    words = [contest.motion, *([speech.speaker, speech.text] for speech in contest.speeches)]
    return hashlib.sha256(dump(words).encode()).hexdigest()


def contest_line(contest: Contest) -> str:
    """Write a contest."""
    return dump({"format": FORMAT, **contest.model_dump(mode="json")})


def _record_of(line: Line) -> dict[str, Any]:
    record = require_object(line.value)
    number = record.get("format")
    if isinstance(number, int) and number > FORMAT:
        raise FieldError(
            "",
            f"made by a newer touche-rad (format {number}; this one reads {FORMAT}): "
            "upgrade touche-rad",
        )
    return drop_keys(record, ("format",))


def contest_from(line: Line) -> Contest:
    """Read a contest."""
    return validate(Contest, _record_of(line))


def judgement_line(judgement: Judgement) -> str:
    """Write a panel's verdict."""
    record: dict[str, Any] = {
        "format": FORMAT,
        "id": judgement.id,
        "judge": judgement.judge,
        "words": judgement.words,
        "outcome": judgement.outcome.model_dump(mode="json"),
    }
    if judgement.swapped is not None:
        record["swapped"] = judgement.swapped.model_dump(mode="json")
    return dump(record)


def judgement_from(line: Line) -> Judgement:
    """Read a panel's verdict."""
    return validate(Judgement, _record_of(line))
