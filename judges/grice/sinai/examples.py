"""Judged examples: a file of ours, or one of the user's, and which of them a prompt shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from touche_rad.debate import Maxim
from touche_rad.errors import InputError, UserError

Label = Literal["yes", "no"]


class Example(BaseModel):
    """One judged response; a maxim that nobody was sure of has no label."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user: str = Field(min_length=1)
    system: str = Field(min_length=1)
    arguments: tuple[str, ...] = ()
    labels: Mapping[Maxim, Label]


@cache
def ours() -> tuple[Example, ...]:
    """The examples written for this project."""
    text = files(__package__).joinpath("examples.jsonl").read_text("utf-8")
    return tuple(Example.model_validate_json(line) for line in text.splitlines() if line)


def examples(path: Path | None) -> tuple[Example, ...]:
    """Return the examples of a file, or ours; a wrong line is told with its number."""
    if path is None:
        return ours()
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(Example.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or None
            raise InputError(path, first["msg"], line=number, field=field) from None
    return tuple(found)


def of(found: Sequence[Example], maxim: Maxim, label: Label, count: int) -> list[Example]:
    """Return the first so many examples of a label, or say that there are too few."""
    fitting = [example for example in found if example.labels.get(maxim) == label][:count]
    if len(fitting) < count:
        raise UserError(
            f"the examples hold {len(fitting)} with {maxim} = {label}, and {count} are needed"
        )
    return fitting
