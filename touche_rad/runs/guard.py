"""The guard makes every answer valid, or refuses it: length, citations, and fields.

It does not improve answers: their content is the debater's task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from touche_rad.debate import Argument, Response
from touche_rad.files.records import writable
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, content_words, count_words, cut_to_words


class Refused(ValueError):
    """An answer that cannot be made valid; the next fallback answers."""


class Note(StrEnum):
    """Kinds of changes of an answer; a note is `kind: details`."""

    CUT = "cut"
    UNKNOWN = "unknown argument"
    REPEATED = "repeated argument"
    UNUSED = "argument lost by the cut"
    UNWRITABLE = "unwritable field"

    def because(self, what: str) -> str:
        """Return the note."""
        return f"{self.value}: {what}"


def kind_of(note: str) -> str:
    """Return the kind of a note."""
    return note.partition(":")[0]


def guard(
    response: Response, index: ArgumentIndex | None, max_words: int
) -> tuple[Response, tuple[str, ...]]:
    """Return a valid answer, with a note on each change.

    Args:
        response: The answer of a debater.
        index: The index that must contain every cited argument; None checks no citation.
        max_words: Word limit, cut at sentence ends; 0 = no limit.

    Raises:
        Refused: The answer is empty, or not a response.
    """
    response = _as_response(response)
    whole = clean(response.content)
    if not whole:
        raise Refused("the answer is empty")
    notes: list[str] = []
    content = cut_to_words(whole, max_words) if max_words else whole
    arguments = list(_cited(response.arguments, index, notes))
    if content != whole:
        notes.append(Note.CUT.because(f"{count_words(whole)} words to {count_words(content)}"))
        arguments = list(_still_used(arguments, whole, content, notes))
    extra = _noted(response.model_extra or {}, "response", notes)
    valid = Response(content=content, arguments=tuple(arguments), **extra)
    return valid, tuple(notes)


def _as_response(given: object) -> Response:
    """Validate what a debater returned, which may be a dict or an unvalidated record."""
    if isinstance(given, Response):
        given = {**(given.model_extra or {}), **given.__dict__}
    try:
        return Response.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"]) or "response"
        raise Refused(f"the answer is not a response: {place}: {first['msg']}") from None


def _cited(
    arguments: Iterable[Argument], index: ArgumentIndex | None, notes: list[str]
) -> Iterable[Argument]:
    seen: set[str] = set()
    for given in arguments:
        if given.id in seen:
            notes.append(Note.REPEATED.because(repr(given.id)))
            continue
        seen.add(given.id)
        argument = given if index is None else _recorded(given, index)
        if argument is None:
            notes.append(Note.UNKNOWN.because(f"{given.id!r} is not in the index"))
            continue
        yield _made_writable(argument, notes)


def _recorded(given: Argument, index: ArgumentIndex) -> Argument | None:
    """Return the record of the index, so that a debater cannot change what it cites.

    Fields that the record does not have, such as the official `key` and `score`, are kept.
    """
    own = index.get(given.id)
    if own is None:
        return None
    added = {
        key: value
        for key, value in (given.model_extra or {}).items()
        if key not in (own.model_extra or {})
    }
    return own.model_copy(update=added) if added else own


def _made_writable(argument: Argument, notes: list[str]) -> Argument:
    fields = dict(argument)
    kept = _noted(fields, f"argument {argument.id!r}", notes)
    if len(kept) == len(fields):
        return argument
    kept |= {name: clean(fields[name]) for name in ("id", "text") if name not in kept}
    return Argument(**kept)


def _noted(fields: Mapping[str, Any], whose: str, notes: list[str]) -> dict[str, Any]:
    kept = writable(fields)
    notes.extend(
        Note.UNWRITABLE.because(f"{key!r} of the {whose}") for key in fields if key not in kept
    )
    return kept


def _still_used(
    arguments: list[Argument], whole: str, content: str, notes: list[str]
) -> Iterable[Argument]:
    """Drop each argument that the complete answer used and the cut answer does not use.

    An answer uses an argument if it contains a word that no other cited argument has. An argument
    that shares no such word with the complete answer is kept.
    """
    words = {argument.id: set(content_words(argument.text)) for argument in arguments}
    before, after = set(content_words(whole)), set(content_words(content))
    for argument in arguments:
        others: set[str] = set()
        others.update(*(own for id_, own in words.items() if id_ != argument.id))
        its_own = words[argument.id] - others
        if its_own & before and not its_own & after:
            notes.append(Note.UNUSED.because(repr(argument.id)))
        else:
            yield argument
