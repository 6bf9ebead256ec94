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
    CriterionExample,
    Sees,
    grice,
    is_tag,
    load_shipped,
    shipped_names,
)
from touche_rad.errors import InputError, OptionError, nearest, refuse_newer
from touche_rad.files.outputs import read_status
from touche_rad.files.records import (
    BadLines,
    FieldError,
    Place,
    field_error,
    numbered_lines,
    parse,
    read_toml,
    read_whole,
)

_SUFFIX: Final = ".toml"
_RESERVED: Final = ("annotators", "criteria", "mean", "run", "sample", "settled", "words")
"""Names of other fields of labels and tables."""
EVIDENCE: Final = "_evidence"
"""The end of the name of the field in which a model quotes, before its verdict."""
_GIVE: Final = "give the file by which it was made with --criteria FILE"
_HEAD: Final = re.compile(r"\s*\[+\s*([\w-]+)")
"""The head of a table."""


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
        hint = nearest(name, shipped_names())
        raise OptionError(f"there are no criteria {name!r}{hint}; your own: FILE{_SUFFIX}")
    content = read_toml(path)
    refuse_newer(path, content, FORMAT)
    lines = read_whole(path).splitlines()
    try:
        criteria = CriteriaFile.model_validate(content).criteria()
    except ValidationError as error:
        raise _wrong(path, error, lines) from None
    if not criteria.criteria:
        raise InputError(path, "expected a table such as [clarity] for each question")
    for criterion in criteria:
        keys = _check(criterion, criteria)
        if keys is not None:
            field, expected = keys
            place = [criterion.key, field]
            raise InputError(
                path, expected, line=_line_of(lines, place), field=".".join(filter(None, place))
            )
    if criteria.digest == grice().digest:
        return grice()
    if criteria.name in shipped_names():
        expected = f"expected another name: {criteria.name} has other questions"
        raise InputError(path, expected, line=_line_of(lines, ["name"]), field="name")
    return criteria


def _check(criterion: Criterion, criteria: Criteria) -> tuple[str, str] | None:
    """Return the field that does not fit the others, and what was expected."""
    if criterion.key in _RESERVED or criterion.key.endswith(EVIDENCE):
        return "", "expected another name, which no field of labels has"
    if criteria.titles.count(criterion.title) > 1:
        return "title", "expected another title: two criteria have it"
    possible = criterion.answers.names
    values = {"expect": list(criterion.expect.values())}
    values["examples"] = [example.answer for example in criterion.examples]
    for field, answers in values.items():
        for answer in answers:
            if str(answer) not in possible:
                return field, f"expected one of {', '.join(possible)}, got {answer!r}"
    return None


def _wrong(path: Path, error: ValidationError, lines: list[str]) -> InputError:
    """Return the first problem with its line, its field, and what was expected."""
    problem: Any = error.errors()[0]
    keys = [key for key in problem["loc"] if isinstance(key, str) and key != "[key]"]
    miss = field_error(error)
    message = miss.expected
    if problem["type"] == "extra_forbidden":
        tables: dict[str, type[BaseModel]] = {"sees": Sees, "examples": CriterionExample}
        table = next((tables[key] for key in keys[:-1] if key in tables), Criterion)
        message = f"there is no such key{nearest(keys[-1], table.model_fields)}"
    elif problem["type"] == "model_type" and len(keys) == 1:
        hint = nearest(keys[0], CriteriaFile.model_fields)
        message = f"there is no such key{hint}; a question is a table"
    elif problem["type"] == "string_pattern_mismatch":
        message = "expected another name: 1 to 40 letters, digits and _; a question's in lower case"
    elif problem["type"] == "int_type":
        message = "expected a whole number or a short text"
    return InputError(
        path, message, line=_line_of(lines, keys), field=miss.field.removesuffix(".int") or None
    )


def _line_of(lines: list[str], keys: list[str]) -> int | None:
    """Return the number of the line with a key, or with its table; None for the whole file."""
    table = keys[0] if keys else ""
    current: str | None = None
    place = None
    for number, line in enumerate(lines, 1):
        head = _HEAD.match(line)
        if head:
            current = head[1]
            place = place or (number if current == table else None)
            continue
        key = line.partition("=")[0].strip(" \t\"'")
        if key in keys[1:] if current == table else current is None and key == table:
            return number
    return place


def criteria_of(chosen: Criteria | None, *paths: Place) -> Criteria:
    """Return the criteria of evaluations and labels: those that a user chose, or that they name.

    Files that name none have the chosen ones, or those of the task.

    Raises:
        InputError: A file has others, or those of a file that the user must give.
    """
    for path in paths:
        tag = _tag_in(path)
        if not tag or (chosen is not None and tag == chosen.tag):
            continue
        if chosen is not None:
            raise InputError(path, f"has the criteria {tag}, not {chosen.tag}: {_GIVE}")
        name = tag.partition(" ")[0]
        if name in shipped_names():
            chosen = load_shipped(name)
        elif content := (read_status(Path(path)).get("identity") or {}).get("criteria"):
            chosen = Criteria.model_validate(content)
        if chosen is None or chosen.tag != tag:
            raise InputError(path, f"has the criteria {tag}: {_GIVE}")
    return chosen or grice()


def _tag_in(path: Place) -> str:
    """Return the name and the digest of the criteria that a file names, or an empty text."""
    for _, line in numbered_lines(path, BadLines(skip=True)):
        with suppress(FieldError):
            value = parse(line)
            record = value[0] if isinstance(value, list) and value else value
            if isinstance(record, dict) and record:
                tag = record.get("criteria")
                return str(tag) if is_tag(tag) else ""
    return ""
