"""The paper's numbers and readings, each of which can be changed."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from touche_rad.debaters.rdebater.recall import Match
from touche_rad.debaters.rdebater.schemes import Aggregation, Profile
from touche_rad.debaters.rdebater.schemes.vocabulary import Exemplars
from touche_rad.debaters.rdebater.writing import Wording
from touche_rad.plugins import Options as PluginOptions

FIELDS: Final = ("text", "attacks", "supports", "topic", "all")
_PAPER: Final[dict[str, str]] = {
    "calls": "64", "fields": "text", "coarse": "1000", "rule_match": "literal",
    "scheme_rule": "false", "likeness": "text", "task_rules": "false", "wording": "free",
    "repeat": "true",
}  # fmt: skip
"""What the paper's profile sets where nothing else is said."""


class RdebaterOptions(PluginOptions):
    """What can be set."""

    profile: Profile = Field(
        "lean", description="lean asks in at most 4 calls what paper asks in 4 + the user's turns"
        " + 3 a candidate"
    )  # fmt: skip
    calls: int = Field(4, ge=0, le=10_000, description="the most calls of a turn (paper: 64)")
    mode: Literal["full", "direct", "naive_rag"] = Field(
        "full", description="the paper's baselines: no retrieval, or retrieved text as it stands"
    )
    optimization_module: bool = Field(True, description="summary, judgement and modification")
    logic_summarization: bool = Field(True, description="the opponent's predicates, chain, flaws")
    argumentation_schemes: bool = Field(True, description="annotations and priors by scheme")
    k: int = Field(5, ge=1, le=50, description="records that are kept after the cosine")
    keywords: int = Field(8, ge=1, le=16, description="the most keywords")
    coarse: int = Field(100, ge=1, le=10_000, description="candidates a field (paper: 1000)")
    fields: str = Field("attacks,text", description="fields the keywords search (paper: text)")
    rule_match: Match = Field(
        "index", description="a keyword matches by its stem, or literally (paper)"
    )
    scheme_rule: bool = Field(
        True, description="what is known to use no scheme is passed over (paper: no)"
    )
    likeness: Literal["text", "attacks", "supports", "topic", "all"] = Field(
        "attacks", description="the field whose cosine with the debate ranks (paper: text)"
    )
    label_agg: Aggregation = Field("mean", description="one label a scheme out of four")
    prior_threshold: float = Field(2.0, ge=0, le=4, description="a scheme's mean must be above")
    divide_by: Literal["k", "found"] = Field("k", description="what the mean is divided by")
    without_priors: Literal["all", "first", "none"] = Field(
        "all", description="what is shown with no scheme above the threshold (the formula: none)"
    )
    annotate: Literal["hits", "never"] = Field(
        "hits", description="records that the memory has no annotation of are annotated now"
    )
    exemplars: Exemplars = Field("levels", description="one a label, or the paper's pairs")
    max_revisions: int = Field(3, ge=0, le=20, description="then the best candidate stands")
    summarise: Literal["each", "once"] = Field(
        "each", description="a summary for each candidate, or the first one's for all"
    )
    task_rules: bool = Field(
        True, description="length and repetition are judged too, by code (paper: no)"
    )
    wording: Wording = Field("close", description="close to the arguments, or free (paper)")
    max_words: int = Field(60, ge=5, le=2_000, description="the most words of an utterance")
    cited: int = Field(2, ge=1, le=9, description="the most arguments that are cited")
    repeat: bool = Field(False, description="may cite what was cited before (paper: yes)")
    trace: bool = Field(False, description="all that was made on the way, in the response")

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, given: Any) -> Any:
        return {**_PAPER, **given} if given.get("profile") == "paper" else given

    @field_validator("fields")
    @classmethod
    def _known_fields(cls, given: str) -> str:
        if {one.strip() for one in given.split(",")} - set(FIELDS):
            raise ValueError(f"expected some of {','.join(FIELDS)}")
        return given

    @property
    def searched(self) -> tuple[str, ...]:
        """The fields that the keywords search."""
        return tuple(dict.fromkeys(one.strip() for one in self.fields.split(",")))
