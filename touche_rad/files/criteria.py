"""Files of criteria: TOML, one table for each question."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

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
from touche_rad.files.outputs import read_status
from touche_rad.files.records import (
    BadLines,
    Place,
    field_error,
    read_toml,
    read_whole,
    records,
)

_SUFFIX: Final = ".toml"
_RESERVED: Final = ("annotators", "criteria", "mean", "run", "sample", "settled", "words")
"""Names of other fields of labels and tables."""
EVIDENCE: Final = "_evidence"
"""The end of the name of the field in which a model quotes, before its verdict."""
_FIELDS: Final = (*Criterion.model_fields, *Sees.model_fields)
_GIVE: Final = "give the file by which it was made with --criteria FILE"


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
    text = read_whole(path)
    try:
        criteria = CriteriaFile.model_validate(content).criteria()
    except ValidationError as error:
        raise _wrong(path, error, text) from None
    if not criteria.criteria:
        raise InputError(path, "expected a table such as [clarity] for each question")
    if criteria.digest == grice().digest:
        return grice()
    faults: dict[tuple[str, ...], str] = {}
    if criteria.name in shipped_names():
        faults = {("name",): "expected another name: shipped criteria have it"}
    elif len(set(criteria.titles)) < len(criteria):
        faults = {(): "expected a title of its own for each question"}
    for criterion in criteria:
        key = criterion.key
        if key in _RESERVED or key.endswith(EVIDENCE):
            faults[key,] = "expected another name, which no field of labels has"
        names = criterion.answers.names
        for field, answers in {
            "expect": criterion.expect.values(),
            "examples": [example.answer for example in criterion.examples],
        }.items():
            if not set(map(str, answers)).issubset(names):
                faults[key, field] = f"expected only answers: {', '.join(names)}"
    for keys, expected in faults.items():
        raise InputError(path, expected, line=_line_of(text, *keys), field=".".join(keys) or None)
    return criteria


def _wrong(path: Path, error: ValidationError, text: str) -> InputError:
    """Return the first problem with its line, its field, and what was expected."""
    problem: Any = error.errors()[0]
    keys = [key for key in problem["loc"] if isinstance(key, str) and key != "[key]"]
    miss = field_error(error)
    kind = problem["type"]
    message = miss.expected
    if kind == "extra_forbidden":
        message = f"there is no such key{nearest(keys[-1], _FIELDS)}"
    elif kind == "model_type" and len(keys) == 1:
        hint = nearest(keys[0], CriteriaFile.model_fields)
        message = f"there is no such key{hint}; a question is a table"
    elif kind == "string_pattern_mismatch":
        message = "expected another name: 1 to 40 letters, digits and _; a question's in lower case"
    elif kind == "int_type":
        message = "expected a whole number or a short text"
    field = miss.field.removesuffix(".int") or None
    if kind == "missing":
        del keys[1:]
    return InputError(path, message, line=_line_of(text, *keys), field=field)


def _line_of(text: str, *keys: str) -> int | None:
    """Return the number of the line with a key, or with its table; None for the whole file."""
    start = 0
    number = None
    for key in keys:
        name = re.escape(key)
        place = re.compile(rf'^\s*(\[+\s*{name}\b|"?{name}"?\s*=)', re.M).search(text, start)
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
    for line in records(path, BadLines(skip=True)):
        record = line.value
        if isinstance(record, list) and record:
            record = record[0]
        if isinstance(record, dict) and record:
            tag = record.get("criteria")
            return str(tag) if is_tag(tag) else ""
    return ""
