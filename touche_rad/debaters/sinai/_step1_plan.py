"""Step 1: plan the answer: tone, style, strategy, kind of argument and perspective."""

from __future__ import annotations

from functools import cache
from typing import Literal

from pydantic import BaseModel

from touche_rad.debate import Debate
from touche_rad.debaters._asking import ask_about
from touche_rad.models import Model
from touche_rad.models.output import Line
from touche_rad.text import packaged_table


class Plan(BaseModel):
    """The answer of step 1: five choices, each with a reason."""

    tone: Literal["Neutral", "Respectful", "Assertive/Critical", "Inquisitive"]
    justification_tone: Line = ""
    style: Literal["Academic", "Colloquial", "Socratic", "Logical", "Rhetorical"]
    justification_style: Line = ""
    approach_strategy: Literal["Comprehensive", "Focused", "Principled", "Free"]
    justification_approach: Line = ""
    type_of_arguments: Literal["Logical", "Ethical", "Emotional", "Analogical"]
    justification_type: Line = ""
    perspective: Literal[
        "Economic", "Ethical/Moral", "Scientific", "Practical/pragmatic", "Historical", "Cultural"
    ]
    justification_perspective: Line = ""


FIXED = Plan(
    tone="Respectful",
    justification_tone="it keeps the conversation open",
    style="Logical",
    justification_style="a reason can be checked",
    approach_strategy="Focused",
    justification_approach="one point is enough for one turn",
    type_of_arguments="Logical",
    justification_type="everybody can follow a reason",
    perspective="Practical/pragmatic",
    justification_perspective="results matter to everybody",
)
"""The plan if the model gives none, or if step 1 is off."""


@cache
def parameters() -> dict[str, dict[str, str]]:
    """Return each parameter's values with their meanings."""
    return packaged_table(__package__, "parameters.toml")


async def plan(model: Model, debate: Debate) -> Plan:
    """Ask for the plan of an answer to the debate's last utterance."""
    return await ask_about(
        debate, model, __package__, "plan", Plan, step="sinai.plan", parameters=parameters()
    )
