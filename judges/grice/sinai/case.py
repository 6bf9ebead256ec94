"""A debate as the judges' prompts show it, and the questions they ask of it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from touche_rad.debate import Argument, Debate, Maxim
from touche_rad.text import clean

SHOWN: Final = 2
"""How many of the cited arguments annotators saw."""
LONGEST: Final = 2_000


@cache
def questions() -> Mapping[Maxim, str]:
    """Return each maxim's question."""
    told = tomllib.loads(files(__package__).joinpath("questions.toml").read_text("utf-8"))
    return {maxim: told[maxim.value]["question"] for maxim in Maxim}


@dataclass(frozen=True)
class Case:
    """What is judged: what was said before, the response, and the arguments it cites."""

    before: tuple[str, ...]
    response: str
    arguments: tuple[str, ...]


def case_of(debate: Debate, shown: int = SHOWN) -> Case:
    """Return the last response of a debate as a case."""
    response = debate.last.response
    assert response is not None
    return Case(
        tuple(_spoken(debate)), clean(response.content)[:LONGEST],
        tuple(texts(response.arguments, shown)),
    )  # fmt: skip


def texts(arguments: Sequence[Argument], shown: int) -> list[str]:
    """Return the texts that are shown of arguments; 0 shows all."""
    return [clean(one.text)[:LONGEST] for one in arguments[: shown or None]]


def _spoken(debate: Debate) -> list[str]:
    """All but the judged response, a line an utterance."""
    lines: list[str] = []
    for turn in debate.turns:
        lines.append(f"User: {clean(turn.utterance)[:LONGEST]}")
        if turn.response is not None and turn is not debate.turns[-1]:
            lines.append(f"System: {clean(turn.response.content)[:LONGEST]}")
    return lines
