"""Contests and panels' verdicts on them, one record per line."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator

from touche_rad.contest import Contest, Outcome
from touche_rad.errors import newer_format
from touche_rad.files.models import FileRecord, validate
from touche_rad.files.records import B, FieldError, Line, drop_keys, dump, require_object
from touche_rad.text import digest_of_text

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
    words: _AnyText = ""
    """The digest of the contest's words; empty in older files."""
    outcome: Outcome
    swapped: Outcome | None = None


def words_digest(contest: Contest) -> str:
    """Return the SHA-256 digest of the motion and the speeches."""
    words = [contest.motion, *([speech.speaker, speech.text] for speech in contest.speeches)]
    return digest_of_text(dump(words))


def contest_line(contest: Contest) -> str:
    """Write a contest."""
    return dump({"format": FORMAT, **contest.model_dump(mode="json")})


def record_from(line: Line, model: type[B]) -> B:
    """Read a contest or a panel's verdict."""
    record = require_object(line.value)
    problem = newer_format(record, FORMAT)
    if problem:
        raise FieldError("", problem)
    return validate(model, drop_keys(record, ("format",)))


def judgement_line(judgement: Judgement) -> str:
    """Write a panel's verdict."""
    record = judgement.model_dump(mode="json")
    if not judgement.swapped:
        del record["swapped"]
    return dump(record)
