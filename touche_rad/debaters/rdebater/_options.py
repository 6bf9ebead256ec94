"""Options of the debater `rdebater`, and the paper's numbers and readings as settings."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from touche_rad.debaters._asking import ON_TOPIC, Wording
from touche_rad.debaters.rdebater.schemes.vocabulary import Exemplars
from touche_rad.plugins import Options, Setting
from touche_rad.records import UpTo9

FIELDS: Final = ("text", "attacks", "supports", "topic", "all")
Match = Literal["index", "literal"]


class RdebaterOptions(Options):
    """What users set, and what profiles set."""

    profile: str = "lean"
    """paper: all agents as published; or an ablation"""
    calls: Annotated[int, Field(ge=0, le=10_000)] = 5
    """maximum model calls per turn"""
    k: Annotated[int, Field(ge=1, le=50)] = 5
    """number of retrieved arguments"""
    annotate: Literal["hits", "never"] = "hits"
    """hits: annotate retrieved arguments without annotations in the index"""
    max_words: Annotated[int, Field(ge=5, le=2_000)] = 60
    """maximum words of a response"""
    cited: UpTo9 = 2
    """maximum cited arguments"""
    repeat: bool = False
    """may cite an argument again"""
    trace: bool = False
    """add all intermediate results to the response"""

    agents: Setting[Literal["merged", "separate"]] = "merged"
    """several agents in one call, or one call per agent"""
    mode: Setting[Literal["full", "direct", "naive_rag"]] = "full"
    """full, or a baseline: no retrieval, or retrieved texts in the prompt"""
    optimization_module: Setting[bool] = True
    """summary, judgement and modification"""
    logic_summarization: Setting[bool] = True
    """predicates, reasoning chain and flaws of the opponent"""
    argumentation_schemes: Setting[bool] = True
    """annotations and scheme priors"""
    keywords: Setting[Annotated[int, Field(ge=1, le=16)]] = 8
    """maximum keywords"""
    coarse: Setting[Annotated[int, Field(ge=1, le=10_000)]] = 100
    """candidates per searched field"""
    fields: Setting[str] = "attacks,text"
    """fields that the keywords search"""
    rule_match: Setting[Match] = "index"
    """keywords match by their stem, or literally"""
    on_topic: Setting[bool] = Field(True, description=ON_TOPIC)
    scheme_rule: Setting[bool] = True
    """skip arguments known to use no scheme"""
    likeness: Setting[Literal["text", "attacks", "supports", "topic", "all"]] = "attacks"
    """the field whose cosine with the debate ranks candidates"""
    standalone: Setting[bool] = True
    """skip arguments that refer to a text that is not shown"""
    prior_threshold: Setting[Annotated[float, Field(ge=0, le=4)]] = 2.0
    """minimum mean label of a prior scheme (exclusive)"""
    exemplars: Setting[Exemplars] = "levels"
    """one example per label, or paper's pairs"""
    max_revisions: Setting[Annotated[int, Field(ge=0, le=20)]] = 3
    """maximum revisions of a draft"""
    task_rules: Setting[bool] = True
    """also check length, repetition and support by the cited arguments"""
    wording: Setting[Wording] = "close"
    """close to the arguments' words, or free"""

    @field_validator("fields")
    @classmethod
    def _known_fields(cls, value: str) -> str:
        if {name.strip() for name in value.split(",")} - set(FIELDS):
            raise ValueError(f"expected some of {','.join(FIELDS)}")
        return value

    @property
    def searched(self) -> tuple[str, ...]:
        """The fields that the keywords search."""
        return tuple(dict.fromkeys(name.strip() for name in self.fields.split(",")))
