"""What the model answers of schemes, and the annotations that are read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, create_model

from touche_rad.models.schemas import Line
from touche_rad.schemes.vocabulary import REASON_WORDS, Dimension, Level, Mark, Scheme
from touche_rad.text import clean

Label = Literal["poor", "general", "good", "excellent"]
LabelOrNone = Literal["none", "poor", "general", "good", "excellent"]
FewWords = Annotated[str, Field(json_schema_extra={"maxLength": 60})]
_ALIASES: Final[dict[Dimension, tuple[str, ...]]] = {
    Dimension.ACCEPTABILITY: ("acceptability",),
    Dimension.INFERENCE: ("Inference", "inference"),
    Dimension.RELEVANCE: ("relevance",),
    Dimension.ROBUSTNESS: ("Robustness", "Defeasibility", "robustness"),
}
"""The paper calls its dimensions by different names in its instruction, format and examples."""


class Reason(BaseModel):
    """Why a scheme is said to be used."""

    reason: Line = ""


Named: type[BaseModel] = create_model(
    "Schemes",
    __config__=ConfigDict(extra="forbid"),
    **{one.name.lower(): (Reason | None, Field(None, alias=one.value)) for one in Scheme},  # type: ignore[call-overload]
)
"""The answer of the annotation agent: a key for each scheme that is used, and no other key."""


def reasons_of(answer: BaseModel) -> dict[Scheme, str]:
    """Return the schemes that were named, each with its reason of at most forty words."""
    found = {scheme: getattr(answer, scheme.name.lower()) for scheme in Scheme}
    return {scheme: _few(one.reason) for scheme, one in found.items() if one is not None}


def _few(reason: str) -> str:
    return " ".join(clean(reason).split()[:REASON_WORDS])


_dimension_fields: dict[str, Any] = {
    one.name.lower(): (
        LabelOrNone,
        Field(validation_alias=AliasChoices(one.value, *_ALIASES[one])),
    )
    for one in Dimension
}
Scores: type[BaseModel] = create_model("Scores", reason=(Line, ""), **_dimension_fields)
"""The labels of one scheme."""


@lru_cache(128)
def scoring(found: tuple[Scheme, ...]) -> type[BaseModel]:
    """Return the schema of the scoring agent's answer: the schemes that were found, all of them."""
    fields: dict[str, Any] = {one.name.lower(): (Scores, Field(alias=one.value)) for one in found}
    return create_model("Scoring", **fields)


def marks_of(answer: BaseModel, reasons: Mapping[Scheme, str]) -> dict[Scheme, Mark]:
    """Return the marks; a scheme whose labels are all none is not used after all."""
    marks: dict[Scheme, Mark] = {}
    for scheme, reason in reasons.items():
        labels = getattr(answer, scheme.name.lower())
        levels = {one: Level.of(getattr(labels, one.name.lower())) for one in Dimension}
        if any(levels.values()):
            marks[scheme] = Mark(levels=levels, reason=reason)
    return marks


class Used(BaseModel):
    """A scheme with its labels, as the lean profile asks for it."""

    scheme: Scheme
    reason: FewWords = ""
    acceptability: Label
    inference: Label
    relevance: Label
    robustness: Label

    @property
    def mark(self) -> Mark:
        """The labels as numbers."""
        levels = {one: Level.of(getattr(self, one.name.lower())) for one in Dimension}
        return Mark(levels=levels, reason=_few(self.reason))


class Numbered(BaseModel):
    """The schemes of one argument."""

    number: int
    schemes: Sequence[Used]

    def marks(self, most: int) -> dict[Scheme, Mark]:
        """Return the marks, those of a scheme that is named twice as they first stand."""
        marks: dict[Scheme, Mark] = {}
        for one in self.schemes:
            marks.setdefault(one.scheme, one.mark)
        kept = list(marks)[:most]
        return {scheme: marks[scheme] for scheme in Scheme if scheme in kept}


class Together(BaseModel):
    """The lean profile's answer on several arguments."""

    arguments: Sequence[Numbered]


@lru_cache(128)
def together(count: int, most: int) -> type[Together]:
    """Return the schema of an answer on so many arguments."""
    used: Any = (list[Used], Field(json_schema_extra={"maxItems": most}))
    number: Any = (int, Field(json_schema_extra={"minimum": 1, "maximum": count}))
    one = create_model("Numbered", __base__=Numbered, number=number, schemes=used)
    bounds: Any = {"minItems": count, "maxItems": count}
    listed: Any = (list[one], Field(json_schema_extra=bounds))
    return create_model("Together", __base__=Together, arguments=listed)
