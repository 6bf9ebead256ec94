"""Labelled examples, and a judged response as the prompts of SINAI's judges contain it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from touche_rad.debate import Argument, Debate, Maxim
from touche_rad.errors import InputError, UserError
from touche_rad.models.dialogue import render_dialogue
from touche_rad.text import clean

SHOWN: Final = 2
"""Number of cited arguments that annotators saw."""
LONGEST: Final = 2_000


@cache
def questions() -> Mapping[Maxim, str]:
    """Return each maxim's question."""
    told = tomllib.loads(files(__package__).joinpath("questions.toml").read_text("utf-8"))
    return {maxim: told[maxim.value]["question"] for maxim in Maxim}


@dataclass(frozen=True)
class Case:
    """A judged response: the conversation before it, its text, and its cited arguments."""

    before: tuple[str, ...]
    response: str
    arguments: tuple[str, ...]


def case_of(debate: Debate, shown: int = SHOWN) -> Case:
    """Return the last response of a debate as a case."""
    response = debate.last.response
    assert response is not None
    before = render_dialogue(
        debate, user="User", system="System", last_response=False, max_letters=LONGEST
    )
    return Case(
        tuple(before), clean(response.content)[:LONGEST],
        tuple(texts(response.arguments, shown)),
    )  # fmt: skip


def texts(arguments: Sequence[Argument], shown: int) -> list[str]:
    """Return the texts of the first arguments; `shown=0`: of all."""
    return [clean(one.text)[:LONGEST] for one in arguments[: shown or None]]


Label = Literal["yes", "no"]


class Example(BaseModel):
    """A labelled response; a maxim without a clear verdict has no label."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user: str = Field(min_length=1)
    system: str = Field(min_length=1)
    arguments: tuple[str, ...] = ()
    labels: Mapping[Maxim, Label]


@cache
def ours() -> tuple[Example, ...]:
    """Return the examples of this project."""
    text = files(__package__).joinpath("examples.jsonl").read_text("utf-8")
    return tuple(Example.model_validate_json(line) for line in text.splitlines() if line)


def examples(path: Path | None) -> tuple[Example, ...]:
    """Return the examples of a file, or ours; an InputError names a wrong line."""
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
    """Return the first examples with a label; raise UserError if there are too few."""
    fitting = [example for example in found if example.labels.get(maxim) == label][:count]
    if len(fitting) < count:
        raise UserError(
            f"{count} examples with {maxim} = {label} are needed, and there are {len(fitting)}"
        )
    return fitting
