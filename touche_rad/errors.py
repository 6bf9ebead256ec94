"""Errors, grouped by who can fix them.

ToucheRadError
├── UserError              exit code 2: the call or the input was wrong; one line, no traceback
│   ├── InputError         a place in a file: path, line, field, what was expected
│   └── OptionError        a wrong plugin name or option, with a suggestion
└── WorkError              exit code 1: the call was right, but the work failed
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from os import PathLike

from touche_rad.text import excerpt, printable, redact


class ToucheRadError(Exception):
    """Base of all errors that are printed in one line, without a traceback."""

    exit_code = 1


class UserError(ToucheRadError):
    """A wrong path, option or file, which the caller can fix."""

    exit_code = 2


class WorkError(ToucheRadError):
    """The call was right, but the work failed."""


class OptionError(UserError):
    """A name or an option that does not exist or has a wrong value."""


class InputProblem(StrEnum):
    """What is wrong with a line, where readers of a file treat it in their own way."""

    EMPTY_RECORD = "the debate is lost"
    TEXT_SCORE = "a line has a text as score, not a number"
    OTHER_TITLE = "a line has another name of a maxim"


class InputError(UserError):
    """Invalid input, printed as `file:line: field: expected …, got …`."""

    def __init__(
        self,
        path: str | PathLike[str],
        expected: str,
        *,
        line: int | None = None,
        field: str | None = None,
        problem: InputProblem | None = None,
    ) -> None:
        self.path = str(path)
        self.line = line
        self.field = field
        self.expected = expected
        self.problem = problem
        self.place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(": ".join(filter(None, (self.place, field, expected))))


def nearest(wrong: str, right: Iterable[str], otherwise: str | None = None) -> str:
    """Return ` (did you mean 'x'?)` for the closest valid word.

    If no word is close, return `otherwise`, by default the list of valid words.
    """
    words = sorted(right)
    close = get_close_matches(wrong, words, n=1, cutoff=0.6)
    if close:
        return f" (did you mean {close[0]!r}?)"
    if otherwise is not None:
        return otherwise
    return f" (there is {', '.join(words)})" if words else ""


def why(error: Exception) -> str:
    """Return the reason of an error, without the error number and path of an OSError."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def describe(error: BaseException) -> str:
    """Return the kind of an error and its message, on one line."""
    words = excerpt(error, 300)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def innermost(error: BaseException) -> BaseException:
    """Return the first error of a group, such as that of a task group, and any other as it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


_LAST_NUMBER = re.compile(r"(?<!\d)(\d{1,9})\d*$")


def newer_format(record: object, newest: int) -> str:
    """Say that a newer version wrote a record of ours; empty if this version can read it.

    Files that are not official have a key `format`: a number, or a text that ends with one.
    """
    value = record.get("format") if isinstance(record, Mapping) else None
    if isinstance(value, str):
        number = _LAST_NUMBER.search(value)
        value = int(number[1]) if number else None
    if isinstance(value, int) and value > newest:
        return (
            f"made by a newer touche-rad (format {value}; this one reads {newest}): "
            "upgrade touche-rad"
        )
    return ""


def refuse_newer(place: str | PathLike[str], record: object, newest: int) -> None:
    """Refuse a file of ours that a newer version wrote; its readers call this first.

    Raises:
        UserError: The format is newer.
    """
    problem = newer_format(record, newest)
    if problem:
        raise UserError(f"{place}: {problem}")


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an error, without keys and characters that act on a screen."""
    import traceback  # only failures need it

    return safe_lines("".join(traceback.format_exception(type(error), error, error.__traceback__)))


def safe_lines(text: str) -> str:
    """Return lines that hide keys and that have no characters that act on a screen."""
    return "".join(f"{printable(line).expandtabs()}\n" for line in redact(text).splitlines())
