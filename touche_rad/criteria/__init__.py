"""Criteria: the questions by which a response is judged, as a file gives them.

A value of `Criteria` is passed to what reads, judges, labels, scores or shows verdicts, so that no
code has the questions of one task in it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Literal

__all__ = ["Criteria", "Criterion", "grice"]


@dataclass(frozen=True)
class Criterion:
    """One question on a response, which a verdict answers with yes or no."""

    key: str
    """Its name in label files, tables and options."""
    title: str
    """Its name in evaluation files."""
    column: str
    """A short head of a table's column."""
    reminder: str
    """The question as a person who labels reads it beside each response."""
    question: str
    """The question, as judges that ask a model put it."""
    text: str
    """When the answer is yes, and when it is no."""
    evidence: str
    """What a model quotes before its verdict."""
    expect: Mapping[str, Literal["no"]] = field(default_factory=dict)
    """The verdict that a change of the response must lead to, by the name of the audit's probe."""


@dataclass(frozen=True)
class Criteria:
    """Criteria in the order of columns, prompts and answers."""

    name: str
    source: str
    """The publication that the questions are from."""
    criteria: tuple[Criterion, ...]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of the criteria."""
        return tuple(criterion.key for criterion in self.criteria)

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """The titles of the criteria."""
        return tuple(criterion.title for criterion in self.criteria)

    def __iter__(self) -> Iterator[Criterion]:
        return iter(self.criteria)

    def __len__(self) -> int:
        return len(self.criteria)


@cache
def grice() -> Criteria:
    """Return the criteria of the Touché task.

    Only what knows that it deals with this task asks for them: official files, commands, the server
    of the task, and public functions that are called without criteria.
    """
    table = tomllib.loads(files(__package__).joinpath("grice.toml").read_text("utf-8"))
    name = table.pop("name")
    source = table.pop("source")
    criteria = tuple(Criterion(key, **fields) for key, fields in table.items())
    return Criteria(name, source, criteria)
