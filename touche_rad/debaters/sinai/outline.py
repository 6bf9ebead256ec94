"""Steps 1 and 2 in one call: what the lean profile asks instead of two."""

from __future__ import annotations

from pydantic import create_model

from touche_rad.debate import Debate
from touche_rad.debaters.sinai.dialogue import dialogue
from touche_rad.debaters.sinai.plan import Plan, parameters
from touche_rad.debaters.sinai.queries import Query, in_order, searches
from touche_rad.models import Model, Prompt, dropping_oldest


async def outline(model: Model, debate: Debate, most: int) -> tuple[Plan, list[Query]]:
    """Ask for the plan and the queries at once."""
    schema = create_model("Outline", plan=(Plan, ...), searches=(searches(most), ...))
    prompt = Prompt.load(__package__, "outline")
    values = {"parameters": parameters(), "most": most, "dialogue": dialogue(debate)}
    answer = await model.ask(
        prompt.messages(**values), schema, step="sinai.outline",
        shorten=dropping_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    found: Plan = answer.plan  # type: ignore[attr-defined]
    return found, in_order(answer.searches)  # type: ignore[attr-defined]
