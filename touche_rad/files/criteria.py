"""Files of criteria: TOML, one table for each question."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from touche_rad.criteria import (
    FORMAT,
    Criteria,
    CriteriaFile,
    Criterion,
    Sees,
    grice,
    is_tag,
    load_shipped,
    shipped_names,
)
from touche_rad.errors import InputError, OptionError, nearest, refuse_newer
from touche_rad.files.outputs import known_status
from touche_rad.files.records import (
    LARGEST_TOML,
    BadLines,
    Place,
    field_error,
    read_toml,
    read_whole,
    records,
)

_SUFFIX: Final = ".toml"
_MOST: Final = 100
"""Criteria in a file."""
_RESERVED: Final = ("annotators", "criteria", "mean", "run", "sample", "settled", "words")
"""Names of other fields of labels and tables."""
EVIDENCE: Final = "_evidence"
"""The end of the name of the field in which a model quotes, before its verdict."""
_NO_KEY: Final = "there is no such key"
_EXPECTED: Final = {
    "extra_forbidden": _NO_KEY,
    "model_type": _NO_KEY,
    "string_pattern_mismatch": "expected another name: letters, digits and _; of a question in "
    "lower case",
    "int_type": "expected a whole number or a short text",
}
"""What was expected, by pydantic's name of the error."""


def read_criteria(name: str) -> Criteria:
    """Return shipped criteria by their name, or those of a user's file.

    Raises:
        InputError: Something in the file is wrong.
        OptionError: There are no criteria of this name.
    """
    if name in shipped_names():
        return load_shipped(name)
    path = Path(name)
    if path.suffix != _SUFFIX and not path.is_file():
        raise OptionError(
            f"there are no criteria {name!r}{nearest(name, shipped_names())}; "
            f"your own: FILE{_SUFFIX}"
        )
    content = read_toml(path)
    refuse_newer(path, content, FORMAT)
    text = read_whole(path, LARGEST_TOML)
    try:
        criteria = CriteriaFile.model_validate(content).criteria()
    except ValidationError as error:
        raise _wrong(path, error, text) from None
    if criteria.criteria == grice().criteria:
        return grice()
    _check_names(path, criteria, text)
    return criteria


def _check_names(path: Place, criteria: Criteria, text: str = "") -> None:
    """Refuse what only the tables together show; the text of a file has the lines of its keys."""
    if not 0 < len(criteria) <= _MOST:
        raise InputError(path, f"expected 1 to {_MOST} tables such as [clarity], one a question")
    if criteria.official or criteria.name in shipped_names():
        raise InputError(
            path,
            "expected another name: shipped criteria have it",
            line=_line_of(text, "name"),
            field="name",
        )
    for criterion in criteria:
        key = criterion.key
        names = criterion.answers.names
        answers = [*criterion.expect.values(), *(shot.answer for shot in criterion.examples)]
        if not set(map(str, answers)).issubset(names):
            expected = f"expected only {', '.join(names)} in expect and examples"
        elif key in _RESERVED or key.endswith(EVIDENCE) or hasattr(BaseModel, key):
            expected = "expected another name, which no field of labels has"
        elif criterion.each_answers and not criterion.each:
            expected = "expected each beside each_answers"
        elif criterion.each and (criteria.unit == "debate" or not criterion.answers.scores):
            expected = "expected no each: it is for responses and messages, and not for categories"
        elif criteria.keys.count(key) > 1:
            expected = "expected another key: two criteria have it"
        else:
            continue
        raise InputError(path, expected, line=_line_of(text, key), field=key)


def _wrong(path: Path, error: ValidationError, text: str) -> InputError:
    """Return the first problem with its line, its field, and what was expected."""
    problem: Any = error.errors()[0]
    keys = [key for key in problem["loc"] if isinstance(key, str) and key != "[key]"]
    miss = field_error(error)
    message = _EXPECTED.get(problem["type"], miss.expected)
    if message is _NO_KEY and keys[1:] and keys[-1] in CriteriaFile.model_fields:
        message = "expected it above the first table"
    elif message is _NO_KEY:
        table = Criterion if keys[1:] else CriteriaFile
        message += nearest(keys[-1], (Sees if keys[0] == "sees" else table).model_fields)
    if problem["type"] == "missing":
        del keys[1:]
    field = miss.field.removesuffix(".int") or None
    return InputError(path, message, line=_line_of(text, *keys), field=field)


def _line_of(text: str, *keys: str) -> int | None:
    """Return the number of the line with a key, or with its table; None for the whole file."""
    start = 0
    number = None
    for key in keys:
        name = re.escape(key)
        line = re.compile(rf'^[ \t]*(\[+[ \t]*{name}\b|"?{name}"?[ \t]*=)', re.M)
        place = line.search(text, start)
        if place:
            start = place.end()
            number = text.count("\n", 0, place.start(1)) + 1
    return number


def criteria_of(chosen: Criteria | None, *paths: Place) -> Criteria:
    """Return the criteria of evaluations and labels: those that a user chose, or that they name.

    Files that name none have the chosen ones, or those of the task.

    Raises:
        InputError: A file has others, or those of a file that the user must give.
    """
    is_given = chosen is not None
    for path in paths:
        tag, is_of_labels = _tag_in(path)
        if not tag:
            continue
        name = tag.partition(" ")[0]
        if chosen is None and name in shipped_names():
            chosen = load_shipped(name)
        elif chosen is None:
            with suppress(ValueError, InputError):  # a status may be made to harm
                of_status = Criteria.model_validate(known_status(Path(path)).get("criteria"))
                _check_names(path, of_status)
                chosen = of_status
        tags = (chosen.label_tags if is_of_labels else [chosen.tag]) if chosen else ()
        if chosen is None or tag not in tags:
            fix = "give the file by which it was made with --criteria FILE"
            if chosen and chosen.name != name:
                fix = f"expected {chosen.name}, as --criteria or the other files have"
            elif is_given or name in shipped_names():
                shown = "people see" if is_of_labels else "judges see"
                fix = f"what {shown} is not the same now: undo the change, or make it again"
            raise InputError(path, f"has the criteria {tag}: {fix}")
    return chosen or grice()


def _tag_in(path: Place) -> tuple[str, bool]:
    """Return the criteria that a file names, or an empty text, and whether it has labels."""
    for line in records(path, BadLines(skip=True)):
        record = line.value
        is_of_labels = isinstance(record, list)
        if is_of_labels and record:
            record = record[0]
        if isinstance(record, dict) and record:
            tag = record.get("criteria")
            return (str(tag) if is_tag(tag) else "", is_of_labels)
    return "", False
