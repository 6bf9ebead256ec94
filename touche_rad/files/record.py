"""Strict JSON in and out, and values taken from it by place, each miss told in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from touche_rad.errors import InputError
from touche_rad.files.lines import BadLines, Place, numbered_lines

Record = dict[str, Any]

EMPTY_RECORD = "an empty record: the official client writes one where a debate failed"


class Miss(ValueError):
    """A value that is not as expected, at a place inside a record."""

    def __init__(self, field: str, expected: str) -> None:
        self.field = field
        self.expected = expected
        super().__init__(f"{field}: {expected}")


def parse(text: str) -> Any:
    """Parse strict JSON: NaN and infinities are not numbers here."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        hint = " (a NUL byte)" if "\x00" in text else ""
        raise Miss("", f"expected JSON: {error.msg} at column {error.colno}{hint}") from None
    except RecursionError:
        raise Miss("", "expected JSON: it is nested too deeply") from None
    except Miss:
        raise
    except ValueError as error:
        raise Miss("", f"expected JSON: {error}") from None


def _no_number(name: str) -> NoReturn:
    raise Miss("", f"expected JSON: {name} is no number in it")


def dump(value: Any) -> str:
    """Write strict JSON on one line; what UTF-8 cannot hold is escaped."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False)
    return line


def records(path: Place, bad: BadLines) -> Iterator[tuple[int, Any]]:
    """Yield the JSON value of each line with the line's number; an empty file is an error."""
    empty = True
    for number, text in numbered_lines(path, bad):
        empty = False
        try:
            yield number, parse(text)
        except Miss as miss:
            bad.report(located(path, number, miss))
    if empty and not bad.count:
        raise InputError(path, "is empty: expected at least one line")


def located(path: Place, line: int, miss: Miss) -> InputError:
    """Tell a miss with the file and the line it is in."""
    return InputError(path, miss.expected, line=line, field=miss.field or None)


def shown(value: Any) -> str:
    """Return a short form of a wrong value."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def an_object(value: Any, field: str) -> Record:
    """Return the value if it is an object."""
    if not isinstance(value, dict):
        raise Miss(field, f"expected an object, got {shown(value)}")
    return value


def a_list(value: Any, field: str) -> list[Any]:
    """Return the value if it is a list."""
    if not isinstance(value, list):
        raise Miss(field, f"expected a list, got {shown(value)}")
    return value


def a_text(value: Any, field: str) -> str:
    """Return the value if it is text."""
    if not isinstance(value, str):
        raise Miss(field, f"expected text, got {shown(value)}")
    return value


def within(record: Record, key: str, place: str = "") -> tuple[Any, str]:
    """Return a field that must be there, and its place."""
    field = f"{place}.{key}" if place else key
    if key not in record:
        raise Miss(field, "missing")
    return record[key], field


def optional_text(record: Record, key: str, place: str = "") -> str:
    """Return a text that may be missing or null."""
    value = record.get(key)
    return "" if value is None else a_text(value, f"{place}.{key}" if place else key)
