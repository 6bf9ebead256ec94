"""The options and settings of the panel `inspirescore`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from judges.inspirescore.aggregation import ABBREVIATIONS, DIMENSIONS, Total
from retrieval.web import VARIABLE
from touche_rad.plugins import MayNameFile, Options, Setting
from touche_rad.records import Share, UpTo20

Decider = Literal["model", "solver"]


class InspireScoreOptions(Options):
    """How much one call asks for, and how the paper is read."""

    profile: str = "lean"
    """paper: the calls as published"""
    batch: Annotated[int, Field(ge=1, le=60)] = 6
    """responses per call"""
    dimensions: str = "all"
    """all, or some of EA,AC,AA,TR,FA,LV"""
    logic: Decider = "model"
    """whose verdict on logic is the score"""
    total: Total = "six_mean"
    """six_mean, or three_mean as in R-Debater"""
    tolerance: Share = 0.0
    """largest difference that is a tie"""
    facts_from: str = "web"
    """sources of evidence: some of web,index, or none"""
    web: Annotated[str, MayNameFile(variable=VARIABLE)] = ""
    """SearXNG address or folder of texts; empty: no web search"""
    detailed: Setting[bool] = False
    """queries in a call of their own, an analysis per score, a plan for logic"""
    subjective_scope: Setting[Literal["round", "debate"]] = "round"
    """the four judged dimensions by round, or once for the debate"""
    speeches: Setting[Literal["all", "last"]] = "all"
    """the speeches that are scored: all, or the last of each speaker"""
    cross_check: Setting[bool] = True
    """both the model and the solver decide logic"""
    stated_links: Setting[Literal["conclusions", "premises"]] = "conclusions"
    """what "because" in the reasoning is: a claim to check, or a rule"""
    empty: Setting[Literal["none", "zero"]] = "none"
    """score of a side without facts or conclusions"""
    without_evidence: Setting[Literal["knowledge", "unknown"]] = "knowledge"
    """facts without evidence: by the model's knowledge, or unknown"""
    results_per_search: Setting[UpTo20] = 3
    """results per search"""
    searches: Setting[Literal["each", "joined"]] = "each"
    """one search per query, or one for all queries of a response"""
    fact_reasons: Setting[bool] = False
    """a reason before each verdict on a fact"""
    keep_quotations: Setting[bool] = False
    """evidence that only repeats the debate's own words counts too"""
    max_facts: Setting[Annotated[int, Field(ge=1, le=100)]] = 8
    """maximum facts per response"""
    max_queries: Setting[UpTo20] = 3
    """maximum queries per response"""
    max_evidence: Setting[Annotated[int, Field(ge=1, le=60)]] = 6
    """maximum pieces of evidence per response"""
    max_premises: Setting[Annotated[int, Field(ge=1, le=40)]] = 8
    """maximum premises per response"""
    max_conclusions: Setting[UpTo20] = 3
    """maximum conclusions per response"""
    characters_per_call: Setting[Annotated[int, Field(ge=1_000, le=1_000_000)]] = 12_000
    """characters of speeches per call"""
    max_characters: Setting[Annotated[int, Field(ge=100, le=100_000)]] = 8_000
    """characters read of a speech"""

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
    def selected(self) -> list[str]:
        """The dimensions to score, in the paper's order."""
        named = _named(self.dimensions)
        return [name for name in DIMENSIONS if name in named or self.dimensions == "all"]

    @property
    def sources(self) -> list[str]:
        """The sources of evidence."""
        return [source for source in _parts(self.facts_from) if source != "none"]


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _named(text: str) -> set[str]:
    return {ABBREVIATIONS.get(name.upper(), name) for name in _parts(text)}
