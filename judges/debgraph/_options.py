"""The options and settings of the panel `debgraph`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from judges.debgraph.graph import Kinds
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import setting

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Options(PluginOptions):
    """What is scored and who decides; the settings are the paper's steps and its open questions."""

    profile: str = "lean"
    """paper: the calls as published"""
    decision: Literal["sc", "dp"] = "sc"
    """winner: by the scores (sc) or by the judge's last verdict (dp)"""
    fact: NotNegative = 1.0
    """weight of factuality; 0 saves its calls"""
    persuasion: NotNegative = 1.0
    """weight of persuasion; 0 saves its calls"""
    structure: NotNegative = 1.0
    """weight of structure"""
    margin: NotNegative = 0.0
    """largest difference of the totals that is a tie"""
    feedback: Literal["full", "detailed", "none"] = "full"
    """full: findings and a summary by one more call"""
    batch: int = Field(12, ge=1, le=100)
    """arguments or pairs per call"""

    iterative_graph: bool = setting(True)
    """the graph grows speech by speech; false: a side's speeches at once"""
    counter: bool = setting(True)
    """later speeches are read against the graph; false: each by itself"""
    rounds: Literal["time", "pro"] = setting("time")
    """read first in a round: who spoke first, or pro"""
    max_arguments: int = setting(10, ge=0, le=60)
    """maximum arguments per speech; 0: no limit"""
    graph_format: Literal["lines", "json"] = setting("lines")
    """the graph in the prompts"""
    invalid_graph: Literal["repair", "retry"] = setting("repair")
    """an invalid graph: keep its valid part, or ask again"""
    max_retries: int = setting(2, ge=0, le=20)
    """maximum retries for an unusable graph"""
    background: bool = setting(True)
    """the prompts show the debate's background information"""
    graph_history: bool = setting(False)
    """the prompts for graphs show the judge's thoughts"""

    judge: Literal["once", "round", "none"] = setting("once")
    """the judge's thoughts: at the end, after each round, or none"""
    judge_history: bool = setting(True)
    """the judge sees its earlier thoughts"""

    ask: Literal["batch", "each"] = setting("batch")
    """arguments and pairs: many per call, or one per call"""
    order: Literal["random", "pro", "both"] = setting("random")
    """shown first in a pair; both: ask twice, halve what disagrees"""
    pairs: Literal["once", "edges"] = setting("once")
    """two arguments that rebut each other: one pair, or one per rebuttal"""

    fact_by: Literal["own", "all"] = setting("own")
    """factuality: mean over the side's own arguments, or over all"""
    no_pairs: Literal["zero", "half"] = setting("zero")
    """each side's persuasion in a debate without rebuttals"""
    structure_by: Literal["both", "own"] = setting("both")
    """structure: share of both sides' points, or of the side's chances"""
    rebutted: Literal["claim", "any"] = setting("claim")
    """points for rebuttals of claims only, or of any argument"""
    kinds: Kinds = setting("like")
    """conclusions are claims, first principles premises; or literal"""

    close_margin: NotNegative = setting(0.1)
    """largest difference of a close debate"""
    feedback_to: Literal["both", "winner"] = setting("both")
    """a pair's feedback goes to both sides, or to its winner"""

    @model_validator(mode="after")
    def _is_decidable(self) -> Options:
        if self.decision == "dp" and self.judge == "none":
            raise ValueError("decision=dp needs a profile with judge = once or judge = round")
        if self.graph_history and self.judge != "round":
            raise ValueError("graph_history needs judge = round")
        if self.decision == "sc" and not (self.fact or self.persuasion or self.structure):
            raise ValueError("decision=sc needs fact, persuasion or structure above 0")
        return self
