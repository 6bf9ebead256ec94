"""The options and settings of the panel `debgraph`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from judges.debgraph.graph import Kinds
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Setting

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
    batch: Annotated[int, Field(ge=1, le=100)] = 12
    """arguments or pairs per call"""

    iterative_graph: Setting[bool] = True
    """the graph grows speech by speech; false: a side's speeches at once"""
    counter: Setting[bool] = True
    """later speeches are read against the graph; false: each by itself"""
    rounds: Setting[Literal["time", "pro"]] = "time"
    """read first in a round: who spoke first, or pro"""
    max_arguments: Setting[Annotated[int, Field(ge=0, le=60)]] = 10
    """maximum arguments per speech; 0: no limit"""
    graph_format: Setting[Literal["lines", "json"]] = "lines"
    """the graph in the prompts"""
    invalid_graph: Setting[Literal["repair", "retry"]] = "repair"
    """an invalid graph: keep its valid part, or ask again"""
    max_retries: Setting[Annotated[int, Field(ge=0, le=20)]] = 2
    """maximum retries for an unusable graph"""
    background: Setting[bool] = True
    """the prompts show the debate's background information"""
    graph_history: Setting[bool] = False
    """the prompts for graphs show the judge's thoughts"""

    judge: Setting[Literal["once", "round", "none"]] = "once"
    """the judge's thoughts: at the end, after each round, or none"""
    judge_history: Setting[bool] = True
    """the judge sees its earlier thoughts"""

    ask: Setting[Literal["batch", "each"]] = "batch"
    """arguments and pairs: many per call, or one per call"""
    order: Setting[Literal["random", "pro", "both"]] = "random"
    """shown first in a pair; both: ask twice, halve what disagrees"""
    pairs: Setting[Literal["once", "edges"]] = "once"
    """two arguments that rebut each other: one pair, or one per rebuttal"""

    fact_by: Setting[Literal["own", "all"]] = "own"
    """factuality: mean over the side's own arguments, or over all"""
    no_pairs: Setting[Literal["zero", "half"]] = "zero"
    """each side's persuasion in a debate without rebuttals"""
    structure_by: Setting[Literal["both", "own"]] = "both"
    """structure: share of both sides' points, or of the side's chances"""
    rebutted: Setting[Literal["claim", "any"]] = "claim"
    """points for rebuttals of claims only, or of any argument"""
    kinds: Setting[Kinds] = "like"
    """conclusions are claims, first principles premises; or literal"""

    close_margin: Setting[NotNegative] = 0.1
    """largest difference of a close debate"""
    feedback_to: Setting[Literal["both", "winner"]] = "both"
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
