"""The options and settings of the panel `inspirescore`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from judges.inspirescore.aggregation import ABBREVIATIONS, DIMENSIONS, Total
from retrieval.web import VARIABLE
from touche_rad.plugins import MayNameFile, Options, setting

Decider = Literal["model", "solver"]


class InspireScoreOptions(Options):
    """How much one call asks for, and how the paper is read."""

    profile: str = Field("lean", description="paper: the calls as published")
    batch: int = Field(6, ge=1, le=60, description="responses per call")
    dimensions: str = Field("all", description="all, or some of EA,AC,AA,TR,FA,LV")
    logic: Decider = Field("model", description="whose verdict on logic is the score")
    total: Total = Field("six_mean", description="six_mean, or three_mean as in R-Debater")
    tolerance: float = Field(0.0, ge=0, le=1, description="largest difference that is a tie")
    facts_from: str = Field("web", description="sources of evidence: some of web,index, or none")
    web: Annotated[str, MayNameFile(variable=VARIABLE)] = Field(
        "", description="SearXNG address or folder of texts; empty: no web search"
    )
    detailed: bool = setting(
        False, description="queries in a call of their own, an analysis per score, a plan for logic"
    )
    subjective_scope: Literal["round", "debate"] = setting(
        "round", description="the four judged dimensions by round, or once for the debate"
    )
    speeches: Literal["all", "last"] = setting(
        "all", description="the speeches that are scored: all, or the last of each speaker"
    )
    cross_check: bool = setting(True, description="both the model and the solver decide logic")
    stated_links: Literal["conclusions", "premises"] = setting(
        "conclusions", description='what "because" in the reasoning is: a claim to check, or a rule'
    )
    empty: Literal["none", "zero"] = setting(
        "none", description="score of a side without facts or conclusions"
    )
    without_evidence: Literal["knowledge", "unknown"] = setting(
        "knowledge", description="facts without evidence: by the model's knowledge, or unknown"
    )
    results_per_search: int = setting(3, ge=1, le=20, description="results per search")
    searches: Literal["each", "joined"] = setting(
        "each", description="one search per query, or one for all queries of a response"
    )
    fact_reasons: bool = setting(False, description="a reason before each verdict on a fact")
    keep_quotations: bool = setting(
        False, description="evidence that only repeats the debate's own words counts too"
    )
    max_facts: int = setting(8, ge=1, le=100, description="maximum facts per response")
    max_queries: int = setting(3, ge=1, le=20, description="maximum queries per response")
    max_evidence: int = setting(
        6, ge=1, le=60, description="maximum pieces of evidence per response"
    )
    max_premises: int = setting(8, ge=1, le=40, description="maximum premises per response")
    max_conclusions: int = setting(3, ge=1, le=20, description="maximum conclusions per response")
    characters_per_call: int = setting(
        12_000, ge=1_000, le=1_000_000, description="characters of speeches per call"
    )
    max_characters: int = setting(
        8_000, ge=100, le=100_000, description="characters read of a speech"
    )

    @field_validator("dimensions")
    @classmethod
    def _known_dimensions(cls, text: str) -> str:
        names = _named(text)
        if text != "all" and (not names or names - set(DIMENSIONS)):
            raise ValueError("expected some of EA,AC,AA,TR,FA,LV, or all")
        return text

    @field_validator("facts_from")
    @classmethod
    def _known_sources(cls, text: str) -> str:
        if text != "none" and (not _parts(text) or set(_parts(text)) - {"index", "web"}):
            raise ValueError("expected some of index,web, or none")
        return text

    @property
    def selected(self) -> tuple[str, ...]:
        """The dimensions to score, in the paper's order."""
        named = _named(self.dimensions)
        return tuple(name for name in DIMENSIONS if name in named or self.dimensions == "all")

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of evidence."""
        return tuple(source for source in _parts(self.facts_from) if source != "none")


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _named(text: str) -> set[str]:
    return {ABBREVIATIONS.get(name.upper(), name) for name in _parts(text)}
