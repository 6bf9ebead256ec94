"""Argumentation schemes and dimensions: vocabulary, definitions and worked examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from functools import cache
from math import ceil
from typing import Final, Literal

from pydantic import BaseModel, computed_field

from touche_rad.text import packaged_table

REASON_WORDS: Final = 40
"""The paper's bound on a reason."""


class Scheme(StrEnum):
    """A stereotypical pattern of reasoning, by the name that prompts and answers use."""

    EXAMPLE = "Example-Based Argumentation"
    VALUE = "Value-Based Argumentation"
    EXPERT = "Expert Opinion Argumentation"
    POSITIVE = "Positive Consequence Argumentation"
    CAUSAL = "Causal Argumentation"
    NEGATIVE = "Negative Consequence Argumentation"
    ANALOGY = "Analogical Argumentation"


class Dimension(StrEnum):
    """A respect in which the use of a scheme is good or poor."""

    ACCEPTABILITY = "Acceptability"
    INFERENCE = "Inference & Defeasibility"
    RELEVANCE = "Relevance"
    ROBUSTNESS = "Robustness & Rhetorical Clarity"


class Level(IntEnum):
    """How good; the paper's numbers. Its word "general" is "average" here, which is clearer."""

    NONE = 0
    POOR = 1
    AVERAGE = 2
    GOOD = 3
    EXCELLENT = 4

    @property
    def word(self) -> str:
        """The level as prompts name it."""
        return self.name.lower()


class Mark(BaseModel, frozen=True):
    """How one scheme is used in a text."""

    levels: Mapping[Dimension, Level]
    reason: str = ""

    @property
    def level(self) -> Level:
        """One label for the labels of the dimensions."""
        return collapsed(self.levels.values())


class Annotation(BaseModel, frozen=True):
    """The schemes of one text; one that uses none has no marks."""

    marks: Mapping[Scheme, Mark] = {}

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """The schemes that the text uses."""
        return tuple(self.marks)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def labels(self) -> dict[str, int]:
        """The grade of each scheme: what `touche-rad score` compares with other annotators."""
        return {scheme.value: int(mark.level) for scheme, mark in self.marks.items()}

    def level(self, scheme: Scheme) -> Level:
        """Return the one label of a scheme: none where the text does not use it."""
        mark = self.marks.get(scheme)
        return mark.level if mark else Level.NONE


def collapsed(levels: Iterable[Level]) -> Level:
    """Return one label for the labels of the dimensions.

    The paper has one label per scheme in its text and four in its prompt. Their mean is
    rounded to the nearest label, a half is rounded down. A dimension without label does not count.
    """
    numbers = [int(level) for level in levels if level is not Level.NONE]
    if not numbers:
        return Level.NONE
    return Level(ceil(sum(numbers) / len(numbers) - 0.5))


Exemplars = Literal["levels", "pairs", "both"]
"""One exemplar per label, or two good ones and two bad ones, or all of them."""


class Exemplar(BaseModel):
    """A text with its labels, in the order of the dimensions; without a scheme it has none."""

    set: Exemplars
    kind: str
    scheme: Scheme | None = None
    text: str
    labels: tuple[str, ...] = ()

    @property
    def labelled(self) -> str:
        """The labels as a line."""
        named = zip(Dimension, self.labels, strict=True)
        return ", ".join(f"{dimension.value}: {label}" for dimension, label in named)


@cache
def schemes() -> dict[Scheme, Mapping[str, str]]:
    """Return how a prompt explains each scheme."""
    blocks = packaged_table(__package__, "schemes.toml")
    return {scheme: blocks[scheme.name.lower()] for scheme in Scheme}


@cache
def dimensions() -> dict[Dimension, Mapping[str, str]]:
    """Return how a prompt explains each dimension."""
    blocks = packaged_table(__package__, "dimensions.toml")
    return {dimension: blocks[dimension.name.lower()] for dimension in Dimension}


@cache
def exemplars(wanted: Exemplars) -> tuple[Exemplar, ...]:
    """Return the exemplars of a set."""
    every = [
        Exemplar.model_validate(table)
        for table in packaged_table(__package__, "exemplars.toml")["exemplar"]
    ]
    return tuple(
        exemplar for exemplar in every if wanted == "both" or exemplar.set in (wanted, "both")
    )
