"""What can go wrong, told apart by who can mend it.

ToucheRadError
├── UserError              exit code 2: the call or the input was wrong; one line, no traceback
│   ├── InputError         a place in a file: path, line, field, what was expected
│   └── OptionError        a plugin's name or option, with the nearest right one
└── WorkError              exit code 1: the call was right and the work failed all the same
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from os import PathLike


class ToucheRadError(Exception):
    """Base of all errors that are told to a person in one line."""

    exit_code = 1


class UserError(ToucheRadError):
    """The caller can mend it: a wrong path, option or file."""

    exit_code = 2


class WorkError(ToucheRadError):
    """The call was right, and the work failed all the same."""


class OptionError(UserError):
    """A name or an option that does not exist or has a wrong value."""


class InputError(UserError):
    """Bad input at a known place, told as `file:line: field: expected …, got …`."""

    def __init__(
        self,
        path: str | PathLike[str],
        expected: str,
        *,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        self.path = str(path)
        self.line = line
        self.field = field
        self.expected = expected
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(": ".join(part for part in (place, field, expected) if part))


def nearest(wrong: str, right: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the closest right word, or the list of all of them."""
    words = sorted(right)
    close = get_close_matches(wrong, words, n=1, cutoff=0.5)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (there is {', '.join(words)})" if words else ""


def why(error: Exception) -> str:
    """Return why something cannot be read, without what stands beside it: a number and the path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
