"""Logical validity: a response is written in first-order logic, and its conclusions are decided.

The model decides them, as in the paper, and so does a solver. One of the two is the score; the
other is reported beside it, because a model's verdict on logic can be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import anyio

from judges.inspirescore._options import Decider, InspireScoreOptions
from judges.inspirescore._responses import Response
from judges.inspirescore._schemas import (
    Conclusion,
    Expression,
    Predicate,
    Truth,
    ask_about,
    bounded,
    form,
    keyed,
    part_size,
)
from judges.inspirescore.fol import Decision, Solver
from touche_rad.models import Model, ask_in_parts
from touche_rad.models.output import Page
from touche_rad.text import clean

LONGEST: Final = 1_200
"""Characters of a formula that are kept; the parser refuses one that is too long."""

TOKENS_PER_FORMULA: Final = 64
"""Token limit of an answer for each premise and conclusion, with the predicates in them."""
TOKENS_PER_CONCLUSION: Final = 224
TOKENS_PER_PLAN: Final = 640


@dataclass(frozen=True)
class Formalised:
    """A response in first-order logic, and the verdicts on its conclusions."""

    response: Response
    predicates: tuple[Predicate, ...] = ()
    premises: tuple[Expression, ...] = ()
    conclusions: tuple[Expression, ...] = ()
    left_off: int = 0
    """Premises and conclusions beyond the maximum."""
    plan: str = ""
    inferred: tuple[Conclusion, ...] = ()
    solved: tuple[Decision, ...] = ()
    fault: str = ""

    def verdicts(self, by: Decider) -> tuple[Truth, ...]:
        """Return the verdict of the model or of the solver on each conclusion, if it was asked."""
        if by == "model":
            return tuple(one.verdict for one in self.inferred)
        return tuple(one.truth for one in self.solved)

    def counted(self, by: Decider) -> tuple[int, int]:
        """Return the number of true conclusions and of all decided conclusions."""
        verdicts = self.verdicts(by)
        return verdicts.count("true"), len(verdicts)


@dataclass(frozen=True)
class LogicChecker:
    """Checks the logic of responses."""

    model: Model
    solver: Solver | None
    options: InspireScoreOptions

    async def check(self, motion: str, responses: Sequence[Response]) -> list[Formalised]:
        """Formalise each response and decide its conclusions; a failure costs one response."""
        size = self.options.batch
        texts = [response.shown for response in responses]

        every = await ask_in_parts(
            responses,
            part_size(texts, size, self.options.characters_per_call),
            partial(self._formalise, motion),
            lambda one, why: Formalised(one, fault=why),
        )
        concluding = [one for one in every if one.conclusions]
        if self.options.logic == "model" or self.options.cross_check:
            concluding = await ask_in_parts(
                concluding, size, self._infer, lambda one, why: replace(one, fault=why)
            )
        if self.solver is not None:
            concluding = await anyio.to_thread.run_sync(
                _solve, self.solver, concluding, abandon_on_cancel=True
            )
        done = {one.response: one for one in concluding}
        return [done.get(one.response, one) for one in every]

    async def _formalise(self, motion: str, batch: Sequence[Response]) -> list[Formalised]:
        premises, conclusions = self.options.max_premises, self.options.max_conclusions
        kind = keyed(
            "Logic",
            {
                "predicates": bounded(Predicate, 2 * premises),
                "premises": bounded(Expression, premises),
                "conclusions": bounded(Expression, conclusions),
            },
        )
        answers = await ask_about(
            self.model,
            "formalise",
            "Formalised",
            batch,
            [kind] * len(batch),
            len(batch) * TOKENS_PER_FORMULA * (premises + conclusions + 2),
            motion=motion,
            most_premises=premises,
            most_conclusions=conclusions,
        )
        return [self._read(one, answer) for one, answer in zip(batch, answers, strict=True)]

    def _read(self, response: Response, answer: Any) -> Formalised:
        most = self.options.max_premises
        premises = [_cleaned(one) for one in answer.premises]
        conclusions = [_cleaned(one) for one in answer.conclusions if one.formula.strip()]
        first = conclusions[: self.options.max_conclusions]
        return Formalised(
            response,
            tuple(_cleaned(one) for one in answer.predicates[: 2 * most]),
            tuple(premises[:most]),
            tuple(first),
            left_off=max(0, len(premises) - most) + len(conclusions) - len(first),
        )

    async def _infer(self, batch: Sequence[Formalised]) -> list[Formalised]:
        """Ask the model whether each conclusion follows (the paper's second step)."""
        plan: dict[str, Any] = {"plan": Page} if self.options.detailed else {}
        kinds = [
            keyed(f"Conclusions_{place}", {**plan, **dict.fromkeys(_names(one), Conclusion)})
            for place, one in enumerate(batch, 1)
        ]
        answers = await ask_about(
            self.model,
            "infer",
            "Inference",
            batch,
            kinds,
            sum(TOKENS_PER_CONCLUSION * len(one.conclusions) for one in batch)
            + len(batch) * (TOKENS_PER_PLAN if plan else 0),
            detailed=self.options.detailed,
            form=form(
                keyed("Inference", {f"response_{n}": kind for n, kind in enumerate(kinds, 1)})
            ),
        )
        return [
            replace(
                one,
                inferred=tuple(parts[name] for name in _names(one)),
                plan=clean(parts.get("plan", "")),
            )
            for one, parts in zip(batch, map(dict, answers), strict=True)
        ]


def _names(item: Formalised) -> list[str]:
    return [f"conclusion_{number}" for number in range(1, len(item.conclusions) + 1)]


def _solve(solver: Solver, items: Sequence[Formalised]) -> list[Formalised]:
    solved = []
    for item in items:
        premises = [one.formula for one in item.premises]
        decisions = (solver.decide(premises, one.formula) for one in item.conclusions)
        solved.append(replace(item, solved=tuple(decisions)))
    return solved


def agreement(items: Sequence[Formalised]) -> tuple[int, int]:
    """Return on how many conclusions model and solver agree, and how many both decided."""
    pairs = [
        pair
        for item in items
        if item.inferred and item.solved
        for pair in zip(item.verdicts("model"), item.verdicts("solver"), strict=True)
    ]
    return sum(one == other for one, other in pairs), len(pairs)


def _cleaned(item: Any) -> Any:
    """Return a predicate or an expression with clean texts of limited length."""
    return item.model_copy(update={key: clean(text)[:LONGEST] for key, text in item})
