"""Logical validity: a response is put into first-order logic, and its conclusions are decided.

The model decides them, as in the paper, and so does a solver; the one is the score and the other
stands beside it, since a model's word on logic is an opinion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import anyio

from judges.inspirescore.fol import Decision, Solver
from judges.inspirescore.responses import Response
from judges.inspirescore.schemas import (
    Expression,
    Inferred,
    Predicate,
    Truth,
    bounded,
    in_batches,
    keyed,
    prompt,
)
from touche_rad.models import Model, ModelError
from touche_rad.models.output import Page
from touche_rad.text import clean

By = Literal["model", "solver"]
LONGEST = 1_200
"""Letters of a formula that go on; the solver's reader says what is too long."""


@dataclass(frozen=True)
class Formalised:
    """A response in first-order logic, and what was decided of its conclusions."""

    response: Response
    predicates: tuple[Predicate, ...] = ()
    premises: tuple[Expression, ...] = ()
    conclusions: tuple[Expression, ...] = ()
    left_off: int = 0
    plan: str = ""
    inferred: tuple[Inferred, ...] = ()
    solved: tuple[Decision, ...] = ()
    fault: str = ""

    def verdicts(self, by: By) -> tuple[Truth, ...]:
        """What the model or the solver says of each conclusion; nothing where it was not asked."""
        if by == "model":
            return tuple(one.verdict for one in self.inferred)
        return tuple(one.truth for one in self.solved)

    def counted(self, by: By) -> tuple[int, int]:
        """How many conclusions are true, and how many there are."""
        verdicts = self.verdicts(by)
        return verdicts.count("true"), len(verdicts)


@dataclass(frozen=True)
class Reasoning:
    """How logic is checked."""

    model: Model
    solver: Solver | None
    size: int
    by: By
    """Whose word is the score."""
    both: bool
    """Whether the other is asked too."""
    detailed: bool
    most_premises: int
    most_conclusions: int

    async def decided(self, motion: str, responses: Sequence[Response]) -> list[Formalised]:
        """Formalise each response and decide its conclusions; a failure costs one response."""

        async def formalise(batch: Sequence[Response]) -> list[Formalised]:
            return await self._formalised(motion, batch)

        found = await in_batches(self.model, responses, self.size, formalise)
        made = [
            Formalised(response, fault=str(one)) if isinstance(one, ModelError) else one
            for response, one in zip(responses, found, strict=True)
        ]
        concluding = [one for one in made if one.conclusions]
        if self.by == "model" or self.both:
            concluding = await self._all_inferred(concluding)
        if self.solver is not None:
            concluding = await anyio.to_thread.run_sync(
                self._all_solved, self.solver, concluding, abandon_on_cancel=True
            )
        done = {one.response: one for one in concluding}
        return [done.get(one.response, one) for one in made]

    async def _formalised(self, motion: str, batch: Sequence[Response]) -> list[Formalised]:
        keys = _keys(batch)
        messages = prompt("formalise").messages(
            motion=motion, responses=dict(zip(keys, batch, strict=True)),
            most_premises=self.most_premises, most_conclusions=self.most_conclusions,
        )  # fmt: skip
        kind = keyed("Logic", {
            "predicates": bounded(Predicate, 2 * self.most_premises),
            "premises": bounded(Expression, self.most_premises),
            "conclusions": bounded(Expression, self.most_conclusions),
        })  # fmt: skip
        schema = keyed("Formalised", dict.fromkeys(keys, kind))
        answer = await self.model.ask(messages, schema, step="inspirescore.formalise")
        return [self._read(one, getattr(answer, key)) for key, one in zip(keys, batch, strict=True)]

    def _read(self, response: Response, answer: Any) -> Formalised:
        premises = [_cleaned(one) for one in answer.premises]
        conclusions = [_cleaned(one) for one in answer.conclusions if one.formula.strip()]
        kept = conclusions[: self.most_conclusions]
        return Formalised(
            response,
            tuple(
                Predicate(symbol=clean(one.symbol)[:LONGEST], meaning=clean(one.meaning)[:LONGEST])
                for one in answer.predicates[: 2 * self.most_premises]
            ),
            tuple(premises[: self.most_premises]), tuple(kept),
            left_off=max(0, len(premises) - self.most_premises) + len(conclusions) - len(kept),
        )  # fmt: skip

    async def _all_inferred(self, items: Sequence[Formalised]) -> list[Formalised]:
        """The paper's second step."""
        found = await in_batches(self.model, items, self.size, self._inferred)
        return [
            replace(item, fault=str(one)) if isinstance(one, ModelError) else one
            for item, one in zip(items, found, strict=True)
        ]

    async def _inferred(self, batch: Sequence[Formalised]) -> list[Formalised]:
        keys = _keys(batch)
        messages = prompt("infer").messages(
            responses=dict(zip(keys, batch, strict=True)), detailed=self.detailed
        )
        kinds = {key: self._inference(key, one) for key, one in zip(keys, batch, strict=True)}
        answer = await self.model.ask(
            messages, keyed("Inference", kinds), step="inspirescore.infer"
        )
        return [
            self._judged(one, getattr(answer, key)) for key, one in zip(keys, batch, strict=True)
        ]

    def _inference(self, key: str, item: Formalised) -> Any:
        names = [f"conclusion_{number}" for number in range(1, len(item.conclusions) + 1)]
        plan: dict[str, Any] = {"plan": Page} if self.detailed else {}
        return keyed(f"Conclusions_{key}", {**plan, **dict.fromkeys(names, Inferred)})

    def _judged(self, item: Formalised, answer: Any) -> Formalised:
        inferred = tuple(
            getattr(answer, f"conclusion_{number}")
            for number in range(1, len(item.conclusions) + 1)
        )
        return replace(item, inferred=inferred, plan=clean(getattr(answer, "plan", "")))

    @staticmethod
    def _all_solved(solver: Solver, items: Sequence[Formalised]) -> list[Formalised]:
        solved = []
        for item in items:
            premises = [one.formula for one in item.premises]
            decisions = (solver.decide(premises, one.formula) for one in item.conclusions)
            solved.append(replace(item, solved=tuple(decisions)))
        return solved


def agreement(items: Sequence[Formalised]) -> tuple[int, int]:
    """Return on how many conclusions the model and the solver agree, of how many both decided."""
    pairs = [
        (one, other)
        for item in items
        if item.inferred and item.solved
        for one, other in zip(item.verdicts("model"), item.verdicts("solver"), strict=True)
    ]
    return sum(one == other for one, other in pairs), len(pairs)


def _cleaned(expression: Expression) -> Expression:
    return Expression(
        formula=clean(expression.formula)[:LONGEST], meaning=clean(expression.meaning)[:LONGEST]
    )


def _keys(batch: Sequence[Any]) -> list[str]:
    return [f"response_{number}" for number in range(1, len(batch) + 1)]
