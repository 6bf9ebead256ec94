"""How the panel `debgraph` reads the paper: two profiles, and each reading an option."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, model_validator

from judges.debgraph.graph import Kinds
from touche_rad.plugins import Options as PluginOptions

PAPER: Final = {
    "judge": "round", "ask": "each", "show": "json", "faulty": "retry", "retry_cap": "5",
    "most": "0", "rounds": "pro", "kinds": "literal", "order": "pro", "pairs": "edges",
    "feedback_to": "winner",
}  # fmt: skip
"""What `profile=paper` sets where nothing else is said."""


class Options(PluginOptions):
    """The switches of the paper's steps, and how each gap in it is read."""

    profile: Literal["lean", "paper"] = Field(
        "lean", description="paper: a call for each argument, pair and round, as printed"
    )
    decision: Literal["sc", "dp"] = Field(
        "sc", description="who wins: by the scores (sc), or the judge's last word (dp)"
    )

    fact: float = Field(
        1.0, ge=0, allow_inf_nan=False, description="weight of factuality; 0 leaves it out, unasked"
    )
    persuasion: float = Field(
        1.0, ge=0, allow_inf_nan=False, description="weight of persuasion; 0 leaves it out"
    )
    structure: float = Field(
        1.0, ge=0, allow_inf_nan=False, description="weight of structure; 0 leaves it out"
    )
    margin: float = Field(
        0.0, ge=0, allow_inf_nan=False, description="totals no further apart are a tie"
    )
    close: float = Field(
        0.1, ge=0, allow_inf_nan=False, description="totals no further apart are told to be close"
    )

    fact_by: Literal["own", "all"] = Field(
        "own", description="factuality is a mean over the side's own arguments, or over all"
    )
    no_pairs: Literal["zero", "half"] = Field(
        "zero", description="each side's persuasion where there is no pair of rebuttals"
    )
    structure_by: Literal["both", "own"] = Field(
        "both", description="structure is a share of both sides' points, or of one's own chances"
    )
    rebutted: Literal["claim", "any"] = Field(
        "claim", description="a rebuttal scores against a claim only, or against any argument"
    )
    kinds: Kinds = Field(
        "like", description="conclusions count as claims, first principles as premises; or literal"
    )
    pairs: Literal["once", "edges"] = Field(
        "once", description="two arguments that rebut each other are one pair, or a pair an edge"
    )
    order: Literal["random", "pro", "both"] = Field(
        "random", description="who is shown first in a pair; both asks twice and halves a split"
    )

    iterative_graph: bool = Field(
        True, description="a graph grown speech by speech; false reads each side's speeches at once"
    )
    counter: bool = Field(
        True, description="later speeches are read against the graph; false reads each by itself"
    )
    judge: Literal["once", "round", "none"] = Field(
        "once", description="the judge's thoughts: all at the end, after each round, or none"
    )
    judge_history: bool = Field(True, description="the judge goes by its earlier thoughts")
    graph_history: bool = Field(
        False, description="the judge's thoughts are shown to those who read speeches"
    )
    rounds: Literal["time", "pro"] = Field(
        "time", description="within a round who spoke first is read first, or always pro"
    )

    ask: Literal["batch", "each"] = Field(
        "batch", description="arguments and pairs are judged many in a call, or each in its own"
    )
    batch: int = Field(12, ge=1, le=100, description="the most that are judged in one call")
    most: int = Field(
        10, ge=0, le=60, description="the most arguments a speech is asked for; 0: no bound"
    )
    show: Literal["lines", "json"] = Field("lines", description="how a prompt shows the graph")
    faulty: Literal["mend", "retry"] = Field(
        "mend", description="a wrong graph: what stands is kept, or it is asked for again"
    )
    retry_cap: int = Field(
        2, ge=0, le=20, description="how often a graph that cannot be used is asked for again"
    )

    feedback: Literal["full", "detailed", "none"] = Field(
        "full", description="full: detailed feedback, and the condensed by one more call"
    )
    feedback_to: Literal["both", "winner"] = Field(
        "both", description="a pair's feedback goes to both sides, or to its winner"
    )
    feedback_words: int = Field(250, ge=1, description="the most words of one piece of feedback")
    condensed_words: int = Field(500, ge=1, description="the most words of the condensed feedback")

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, given: Any) -> Any:
        return {**PAPER, **given} if given.get("profile") == "paper" else given

    @model_validator(mode="after")
    def _can_decide(self) -> Options:
        if self.decision == "dp" and self.judge == "none":
            raise ValueError("decision=dp needs the judge's thoughts (judge=once or judge=round)")
        if self.graph_history and self.judge != "round":
            raise ValueError("graph_history needs the judge's thoughts after each round")
        if self.decision == "sc" and not (self.fact or self.persuasion or self.structure):
            raise ValueError("decision=sc needs a score: fact, persuasion or structure")
        return self
