"""Strict JSON in and out, and values taken from it by place, each miss told in one line."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, NoReturn

from touche_rad.errors import InputError
from touche_rad.files.lines import BadLines, Place, numbered_lines

Record = dict[str, Any]

EMPTY_RECORD = "an empty record: the official client writes one where a debate failed"

DEEPEST = 100
"""Levels that a record may have; what serialises it on its way gives up at about 250."""

_LONE = re.compile("[\ud800-\udfff]")


class Miss(ValueError):
    """A value that is not as expected, at a place inside a record."""

    def __init__(self, field: str, expected: str) -> None:
        self.field = field
        self.expected = expected
        super().__init__(f"{field}: {expected}")


class Line(NamedTuple):
    """One line's JSON value, as it is to be used and as it stands in the file.

    The two differ only where the file has half a character (a lone surrogate): no program can send
    or store one as UTF-8, so that U+FFFD stands for it in `value`.
    """

    number: int
    value: Any
    raw: Any


def parse(text: str) -> Any:
    """Parse strict JSON: NaN and infinities are not numbers here."""
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        hint = " (a NUL byte)" if "\x00" in text else ""
        told = f"{error.msg.removesuffix(' at')} at column {error.colno}{hint}"
        raise Miss("", f"expected JSON: {told}") from None
    except RecursionError:
        raise _too_deep() from None
    except Miss:
        raise
    except ValueError:  # Python refuses to convert it: the time would grow with its square
        raise Miss("", "expected JSON: a number has too many digits") from None
    if text.count("[") + text.count("{") > DEEPEST and _depth_is_over(value, DEEPEST):
        raise _too_deep()
    return value


def _too_deep() -> Miss:
    return Miss("", f"expected JSON of at most {DEEPEST} levels: it is nested too deeply")


def _depth_is_over(value: Any, limit: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return False
    return True


_CONTAINERS = frozenset((dict, list))


def _containers(outer: Record | list[Any]) -> Iterable[Any]:
    """Return what is not flat inside; a list of a thousand numbers costs next to nothing."""
    inner = outer.values() if isinstance(outer, dict) else outer
    if _CONTAINERS.isdisjoint(map(type, inner)):
        return ()
    return (one for one in inner if type(one) in _CONTAINERS)


def _no_number(name: str) -> NoReturn:
    raise Miss("", f"expected JSON: {name} is no number in it")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(shown(text).strip("'"))


def whole_characters(value: Any) -> Any:
    """Return the value with U+FFFD for each lone surrogate, in keys too."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [whole_characters(one) for one in value]
    if isinstance(value, dict):
        return {_LONE.sub("\ufffd", key): whole_characters(one) for key, one in value.items()}
    return value


def dump(value: Any) -> str:
    """Write strict JSON on one line; what UTF-8 cannot hold is escaped."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False)
    return line


def records(path: Place, bad: BadLines) -> Iterator[Line]:
    """Yield the JSON value of each line with the line's number; an empty file is an error."""
    empty = True
    for number, text in numbered_lines(path, bad):
        empty = False
        try:
            raw = parse(text)
            halves = "\\ud" in text or "\\uD" in text
            yield Line(number, whole_characters(raw) if halves else raw, raw)
        except Miss as miss:
            bad.report(located(path, number, miss))
    if empty and not bad.count:
        raise InputError(path, "is empty: expected at least one line")


def located(path: Place, line: int, miss: Miss) -> InputError:
    """Tell a miss with the file and the line it is in."""
    return InputError(path, miss.expected, line=line, field=miss.field or None)


def shown(value: Any) -> str:
    """Return a short form of a wrong value."""
    text = _SHORT.repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


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
