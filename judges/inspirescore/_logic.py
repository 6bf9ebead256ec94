"""Logical validity: a response is written in first-order logic, and its conclusions are decided.

The model decides them, as in the paper, and so does a solver. One of the two is the score; the
other is reported beside it, because a model's verdict on logic can be wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import anyio

from judges.inspirescore._options import Decider, InspireScoreOptions
from judges.inspirescore._responses import RoundResponse
from judges.inspirescore._schemas import (
    Conclusion,
    Expression,
    Predicate,
    ask_about,
    form,
    list_type,
    object_schema,
    part_size,
)
from judges.inspirescore.fol import Decision, Solver, Truth
from touche_rad.frozen import frozen
from touche_rad.models import Model, ask_in_parts
from touche_rad.models.output import Page
from touche_rad.text import clean

LONGEST_TEXT: Final = 1_200
"""Characters of a formula that are kept; the parser refuses one that is too long."""

TOKENS_PER_FORMULA: Final = 64
"""Token limit of an answer for each premise and conclusion, with the predicates in them."""
TOKENS_PER_CONCLUSION: Final = 224
TOKENS_PER_PLAN: Final = 640


@frozen
class Formalised:
    """A response in first-order logic, and the verdicts on its conclusions."""

    response: RoundResponse
    predicates: Sequence[Predicate] = ()
    premises: Sequence[Expression] = ()
    conclusions: Sequence[Expression] = ()
    left_off: int = 0
    """Premises and conclusions beyond the maximum."""
    plan: str = ""
    inferred: Sequence[Conclusion] = ()
    solved: Sequence[Decision] = ()
    fault: str = ""

    def verdicts(self, by: Decider) -> list[Truth]:
        """Return the verdict of the model or of the solver on each conclusion, if it was asked."""
        if by == "model":
            return [conclusion.verdict for conclusion in self.inferred]
        return [decision.truth for decision in self.solved]

    @property
    def names(self) -> list[str]:
        """The names of the conclusions in a prompt."""
        return [f"conclusion_{number}" for number in range(1, len(self.conclusions) + 1)]


@frozen
class LogicChecker:
    """Checks the logic of responses."""

    model: Model
    solver: Solver | None
    options: InspireScoreOptions

    async def check(self, motion: str, responses: Sequence[RoundResponse]) -> list[Formalised]:
        """Formalise each response and decide its conclusions; a failure costs one response."""
        options = self.options
        texts = [response.shown for response in responses]
        formalised = await ask_in_parts(
            responses,
            part_size(texts, options.batch, options.characters_per_call),
            partial(self._formalise, motion),
            lambda response, why: Formalised(response, fault=why),
        )
        concluding = [logic for logic in formalised if logic.conclusions]
        if options.logic == "model" or options.cross_check:
            concluding = await ask_in_parts(
                concluding, options.batch, self._infer, lambda logic, why: replace(logic, fault=why)
            )
        if self.solver:
            concluding = await anyio.to_thread.run_sync(
                _solve, self.solver, concluding, abandon_on_cancel=True
            )
        by_response = {logic.response: logic for logic in (*formalised, *concluding)}
        return list(by_response.values())

    async def _formalise(self, motion: str, batch: Sequence[RoundResponse]) -> list[Formalised]:
        most_premises = self.options.max_premises
        most_conclusions = self.options.max_conclusions
        kind = object_schema(
            "Logic",
            {
                "predicates": list_type(Predicate, 2 * most_premises),
                "premises": list_type(Expression, most_premises),
                "conclusions": list_type(Expression, most_conclusions),
            },
        )
        answers = await ask_about(
            self.model,
            "formalise",
            "Formalised",
            batch,
            [kind] * len(batch),
            len(batch) * TOKENS_PER_FORMULA * (most_premises + most_conclusions + 2),
            motion=motion,
            most_premises=most_premises,
            most_conclusions=most_conclusions,
            stated_links=self.options.stated_links,
        )
        formalised = []
        for response, answer in zip(batch, answers, strict=True):
            premises = _clean_texts(answer.premises)
            stated = [part for part in answer.conclusions if part.formula.strip()]
            conclusions = _clean_texts(stated)
            formalised.append(
                Formalised(
                    response,
                    _clean_texts(answer.predicates[: 2 * most_premises]),
                    premises[:most_premises],
                    conclusions[:most_conclusions],
                    left_off=len(premises[most_premises:]) + len(conclusions[most_conclusions:]),
                )
            )
        return formalised

    async def _infer(self, batch: Sequence[Formalised]) -> list[Formalised]:
        """Ask the model whether each conclusion follows (the paper's second step)."""
        detailed = self.options.detailed
        plan: dict[str, Any] = {"plan": Page} if detailed else {}
        kinds = {
            f"response_{number}": object_schema(
                f"Conclusions_{number}", {**plan, **dict.fromkeys(logic.names, Conclusion)}
            )
            for number, logic in enumerate(batch, 1)
        }
        limit = TOKENS_PER_CONCLUSION * sum(len(logic.conclusions) for logic in batch)
        if detailed:
            limit += TOKENS_PER_PLAN * len(batch)
        answers = await ask_about(
            self.model,
            "infer",
            "Inference",
            batch,
            list(kinds.values()),
            limit,
            detailed=detailed,
            form=form(object_schema("Inference", kinds)),
        )
        inferred = []
        for logic, answer in zip(batch, answers, strict=True):
            parts = dict(answer)
            conclusions = [parts[name] for name in logic.names]
            inferred.append(replace(logic, inferred=conclusions, plan=clean(parts.get("plan", ""))))
        return inferred


def _solve(solver: Solver, batch: Sequence[Formalised]) -> list[Formalised]:
    solved = []
    for logic in batch:
        premises = [premise.formula for premise in logic.premises]
        decisions = [
            solver.decide(premises, conclusion.formula) for conclusion in logic.conclusions
        ]
        solved.append(replace(logic, solved=decisions))
    return solved


def agreement(batch: Sequence[Formalised]) -> tuple[int, int]:
    """Return on how many conclusions model and solver agree, and how many both decided."""
    same: list[bool] = []
    for logic in batch:
        # One of the two has no verdicts if it was not asked.
        same += map(operator.eq, logic.verdicts("model"), logic.verdicts("solver"))
    return sum(same), len(same)


def _clean_texts(parts: Sequence[Any]) -> list[Any]:
    """Return predicates or expressions with clean texts of limited length."""
    cleaned = []
    for part in parts:
        texts = {key: clean(text)[:LONGEST_TEXT] for key, text in part}
        cleaned.append(part.model_copy(update=texts))
    return cleaned
