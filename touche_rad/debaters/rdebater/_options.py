"""Options of the debater `rdebater`, and the paper's numbers and readings as settings."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator

from touche_rad.debaters._asking import ON_TOPIC, Wording
from touche_rad.debaters.rdebater.schemes.vocabulary import Exemplars
from touche_rad.plugins import Options, setting
from touche_rad.records import UpTo9

FIELDS: Final = ("text", "attacks", "supports", "topic", "all")
Match = Literal["index", "literal"]


class RdebaterOptions(Options):
    """What users set, and what profiles set."""

    profile: str = "lean"
    """paper: all agents as published; or an ablation"""
    calls: int = Field(5, ge=0, le=10_000)
    """maximum model calls per turn"""
    k: int = Field(5, ge=1, le=50)
    """number of retrieved arguments"""
    annotate: Literal["hits", "never"] = "hits"
    """hits: annotate retrieved arguments without annotations in the index"""
    max_words: int = Field(60, ge=5, le=2_000)
    """maximum words of a response"""
    cited: UpTo9 = 2
    """maximum cited arguments"""
    repeat: bool = False
    """may cite an argument again"""
    trace: bool = False
    """add all intermediate results to the response"""

    agents: Literal["merged", "separate"] = setting("merged")
    """several agents in one call, or one call per agent"""
    mode: Literal["full", "direct", "naive_rag"] = setting("full")
    """full, or a baseline: no retrieval, or retrieved texts in the prompt"""
    optimization_module: bool = setting(True)
    """summary, judgement and modification"""
    logic_summarization: bool = setting(True)
    """predicates, reasoning chain and flaws of the opponent"""
    argumentation_schemes: bool = setting(True)
    """annotations and scheme priors"""
    keywords: int = setting(8, ge=1, le=16)
    """maximum keywords"""
    coarse: int = setting(100, ge=1, le=10_000)
    """candidates per searched field"""
    fields: str = setting("attacks,text")
    """fields that the keywords search"""
    rule_match: Match = setting("index")
    """keywords match by their stem, or literally"""
    on_topic: bool = setting(True, description=ON_TOPIC)
    scheme_rule: bool = setting(True)
    """skip arguments known to use no scheme"""
    likeness: Literal["text", "attacks", "supports", "topic", "all"] = setting("attacks")
    """the field whose cosine with the debate ranks candidates"""
    standalone: bool = setting(True)
    """skip arguments that refer to a text that is not shown"""
    prior_threshold: float = setting(2.0, ge=0, le=4)
    """minimum mean label of a prior scheme (exclusive)"""
    exemplars: Exemplars = setting("levels")
    """one example per label, or paper's pairs"""
    max_revisions: int = setting(3, ge=0, le=20)
    """maximum revisions of a draft"""
    task_rules: bool = setting(True)
    """also check length, repetition and support by the cited arguments"""
    wording: Wording = setting("close")
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
