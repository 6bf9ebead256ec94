"""InspireScore's options: the paper's numbers, and each reading of what the paper leaves open."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from judges.inspirescore.aggregation import DIMENSIONS, Total
from judges.inspirescore.facts import Searches
from judges.inspirescore.logic import By
from judges.inspirescore.subjective import Scope
from touche_rad.plugins import Options

_PAPER: Final = {
    "batch": "1", "facts": "40", "queries": "10", "evidence": "30", "premises": "30",
    "conclusions": "12", "longest": "40000",
}  # fmt: skip
"""What the paper's profile sets where nothing else is said: its bounds only end what is endless."""
_SHORT: Final = {
    "EA": "emotional_appeal", "AC": "argument_clarity", "AA": "argument_arrangement",
    "AR": "argument_arrangement", "TR": "topic_relevance", "FA": "fact_authenticity",
    "LV": "logical_validity",
}  # fmt: skip


class InspireScoreOptions(Options):
    """How much is asked at once, and how the paper is read."""

    profile: Literal["lean", "paper"] = Field(
        "lean", description="lean asks of six responses at once; paper asks of each by itself"
    )
    batch: int = Field(6, ge=1, le=60, description="responses in one call (paper: 1)")
    dimensions: str = Field("all", description="some of EA,AC,AA,TR,FA,LV, or all")
    subjective_scope: Scope = Field(
        "round", description="four scores for each round (equation 1), or for the whole debate"
    )
    logic: By = Field("model", description="whose word is the score: the model's, or a solver's")
    cross_check: bool = Field(True, description="the other decides too, and agreement is shown")
    total: Total = Field("six_mean", description="six_mean, or three_mean as R-Debater has it")
    tolerance: float = Field(0.0, ge=0, le=1, description="totals this close are a tie")
    empty: Literal["none", "zero"] = Field(
        "none", description="what a side without facts or conclusions gets"
    )
    facts_from: str = Field("index,web", description="some of index,web; none asks the model alone")
    web: str = Field("", description="a SearXNG address or a folder of texts; off unless named")
    without_evidence: Literal["knowledge", "unknown"] = Field(
        "knowledge", description="what a fact without evidence goes by (paper: knowledge)"
    )
    hits: int = Field(3, ge=1, le=20, description="results taken of a search")
    searches: Searches = Field("each", description="a search for each query, or for all joined")
    facts: int = Field(8, ge=1, le=100, description="the most facts of a response")
    queries: int = Field(3, ge=1, le=20, description="the most queries of a response")
    evidence: int = Field(6, ge=1, le=60, description="the most pieces of evidence of a response")
    premises: int = Field(10, ge=1, le=40, description="the most premises of a response")
    conclusions: int = Field(4, ge=1, le=20, description="the most conclusions of a response")
    longest: int = Field(8_000, ge=100, le=100_000, description="letters of a speech looked at")

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, given: Any) -> Any:
        return {**_PAPER, **given} if given.get("profile") == "paper" else given

    @field_validator("dimensions")
    @classmethod
    def _known_dimensions(cls, said: str) -> str:
        unknown = {one for one in _parts(said) if _SHORT.get(one.upper(), one) not in DIMENSIONS}
        if said != "all" and (unknown or not _parts(said)):
            raise ValueError("expected some of EA,AC,AA,TR,FA,LV, or all")
        return said

    @field_validator("facts_from")
    @classmethod
    def _known_sources(cls, said: str) -> str:
        if said != "none" and (not _parts(said) or set(_parts(said)) - {"index", "web"}):
            raise ValueError("expected some of index,web, or none")
        return said

    @property
    def wanted(self) -> tuple[str, ...]:
        """The dimensions that are scored, in the paper's order."""
        if self.dimensions == "all":
            return DIMENSIONS
        named = {_SHORT.get(one.upper(), one) for one in _parts(self.dimensions)}
        return tuple(one for one in DIMENSIONS if one in named)

    @property
    def sources(self) -> tuple[str, ...]:
        """Where facts may be looked up."""
        return tuple(one for one in _parts(self.facts_from) if one != "none")


def _parts(said: str) -> list[str]:
    return [one.strip() for one in said.split(",") if one.strip()]
