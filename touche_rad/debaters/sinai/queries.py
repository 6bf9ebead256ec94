"""Step 2: up to three queries, each with the field to search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Debate
from touche_rad.debaters.sinai.plan import Plan, dialogue, parameters
from touche_rad.models import Model, Prompt, dropping_oldest
from touche_rad.models.output import Line, Paragraph
from touche_rad.text import clean

FieldToLook = Literal["SUPPORT", "ATTACK"]
LONGEST: Final = 600


class Query(BaseModel):
    """One idea, and which field of the arguments it is looked for in."""

    opponent_idea: Paragraph = Field(min_length=1)
    field_to_look: FieldToLook
    justification: Line


def searches(most: int) -> type[BaseModel]:
    """Return the schema of the answer: SEARCH_1, and up to so many more."""
    fields: dict[str, Any] = {"SEARCH_1": (Query, ...)}
    fields |= {f"SEARCH_{number}": (Query | None, None) for number in range(2, most + 1)}
    return create_model("Searches", **fields)


def in_order(answer: BaseModel) -> list[Query]:
    """Return the queries of an answer by their numbers."""
    found = (getattr(answer, name) for name in sorted(type(answer).model_fields))
    return [query for query in found if query is not None]


def distinct(queries: Sequence[Query]) -> list[Query]:
    """Return the first query of each idea."""
    found: dict[str, Query] = {}
    for one in queries:
        found.setdefault(clean(one.opponent_idea).lower(), one)
    return list(found.values())


def last_message(debate: Debate) -> Query:
    """What is searched for where the model gave no query: an attack on what was just said."""
    return Query(
        opponent_idea=clean(debate.last.utterance)[:LONGEST] or clean(debate.claim) or "this",
        field_to_look="ATTACK", justification="it is what the opponent just said",
    )  # fmt: skip


async def queries(model: Model, debate: Debate, plan: Plan, most: int) -> list[Query]:
    """Ask what to search for."""
    prompt = Prompt.load(__package__, "queries")
    values = {
        "most": most, "dialogue": dialogue(debate), "plan": plan,
        "meaning": parameters()["approach_strategy"][plan.approach_strategy],
    }  # fmt: skip
    answer = await model.ask(
        prompt.messages(**values), searches(most), step="sinai.queries",
        shorten=dropping_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    return in_order(answer)


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
