"""Files of criteria: TOML, one table for each question."""

from __future__ import annotations

import re
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
    load_shipped,
    shipped_names,
)
from touche_rad.errors import InputError, OptionError, nearest, refuse_newer
from touche_rad.files.records import field_error, read_toml, read_whole

_SUFFIX: Final = ".toml"
_HEAD: Final = re.compile(r"\s*\[+\s*([\w-]+)")
"""The head of a table."""


def read_criteria(name: str) -> Criteria:
    """Return shipped criteria by their name, or those of a user's file.

    Raises:
        InputError: Something in the file is wrong.
        OptionError: There are no criteria of this name.
    """
    if name in shipped_names():
        return grice() if name == grice().name else load_shipped(name)
    path = Path(name)
    if path.suffix != _SUFFIX and not path.is_file():
        hint = nearest(name, shipped_names())
        raise OptionError(f"there are no criteria {name!r}{hint}; your own: FILE{_SUFFIX}")
    content = read_toml(path)
    refuse_newer(path, content, FORMAT)
    try:
        criteria = CriteriaFile.model_validate(content).criteria()
    except ValidationError as error:
        raise _wrong(path, error) from None
    return grice() if criteria.digest == grice().digest else criteria


def _wrong(path: Path, error: ValidationError) -> InputError:
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
        names = CriteriaFile.model_fields
        message = f"there is no such key{nearest(keys[0], names)}; a question is a table"
    elif problem["type"] == "string_pattern_mismatch":
        message = "expected another name: 1 to 40 letters, digits and _; a question's in lower case"
    return InputError(path, message, line=_line_of(read_whole(path), keys), field=miss.field or None)


def _line_of(text: str, keys: list[str]) -> int | None:
    """Return the number of the line with a key, or with its table; None for the whole file."""
    table = keys[0] if keys else ""
    is_above_tables = True
    is_in_table = False
    place = None
    for number, line in enumerate(text.splitlines(), 1):
        head = _HEAD.match(line)
        if head:
            is_above_tables = False
            is_in_table = head[1] == table
            place = place or (number if is_in_table else None)
            continue
        key = line.partition("=")[0].strip(" \t\"'")
        if is_above_tables and key == table:
            return number
        if is_in_table and key in keys[1:]:
            return number
    return place
