"""Decide conclusions with z3, with a limited effort that is the same in every run.

The verdicts are the paper's: a conclusion is true if it follows, false if the premises contradict
it, else unknown. The if-part of a conditional conclusion is a premise and replaces a premise that
contradicts it alone. If the premises contradict each other, nothing follows.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from judges.inspirescore.fol._parser import (
    Atom,
    Binary,
    Formula,
    FormulaError,
    Not,
    Quantified,
    Term,
    parse,
)
from touche_rad.errors import UserError
from touche_rad.text import clean

Truth = Literal["true", "false", "unknown"]
EFFORT: Final = 500_000
"""z3's count of steps for one conclusion; a conclusion that needs more is unknown.

There is no limit in seconds, because the verdict would then depend on the machine.
"""
MOST_PREMISES: Final = 40


@dataclass(frozen=True)
class Decision:
    """The verdict, and why it is unknown."""

    truth: Truth
    reason: str = ""


def solver_is_installed() -> bool:
    """Whether z3 is installed."""
    return importlib.util.find_spec("z3") is not None


class Solver:
    """Decides conclusions; each has its own z3 context, so threads may share a solver."""

    def __init__(self, effort: int = EFFORT) -> None:
        if not solver_is_installed():
            raise UserError("the solver needs the extra logic: pip install 'touche-rad[logic]'")
        self._effort = effort

    def decide(self, premises: Sequence[str], conclusion: str) -> Decision:
        """Decide whether the premises make the conclusion true, false, or neither."""
        try:
            wanted = parse(conclusion)
        except FormulaError as error:
            return Decision("unknown", f"the conclusion cannot be parsed: {error}")
        known, unparsed = _parsed(premises[:MOST_PREMISES])
        unparsed += max(0, len(premises) - MOST_PREMISES)
        import z3

        try:
            decision = _Problem(self._effort).decide(known, wanted)
        except z3.Z3Exception as error:
            decision = Decision("unknown", f"the solver failed: {clean(str(error))[:200]}")
        if decision.truth == "unknown" and unparsed:
            return Decision(
                "unknown", f"{decision.reason}; premises that cannot be parsed: {unparsed}"
            )
        return decision


def _parsed(premises: Sequence[str]) -> tuple[list[Formula], int]:
    known: list[Formula] = []
    for text in premises:
        try:
            known.append(parse(text))
        except FormulaError:
            continue
    return known, len(premises) - len(known)


class _Problem:
    """One conclusion with its terms, predicates and functions in z3."""

    def __init__(self, effort: int) -> None:
        import z3

        self._z3: Any = z3
        self._left = effort
        self._context = z3.Context()
        self._thing = z3.DeclareSort("Thing", self._context)
        self._named: dict[tuple[str, str, int], Any] = {}
        self._variables = 0
        self._gave_up = False

    def decide(self, premises: Sequence[Formula], conclusion: Formula) -> Decision:
        known = [self._formula(one, {}) for one in premises]
        bare, things = conclusion, dict[str, Any]()
        while isinstance(bare, Quantified) and bare.quantifier == "all":
            things[bare.variable] = self._new_thing(bare.variable)
            bare = bare.part
        if isinstance(bare, Binary) and bare.by == "implies":
            condition, then = self._formula(bare.left, things), self._formula(bare.right, things)
            known = self._consistent_with([*known], condition)
            return self._either([*known, condition], then, self._z3.Not(then))
        holds = self._formula(bare, things)
        return self._either(known, holds, self._z3.Not(self._formula(conclusion, {})))

    def _either(self, known: list[Any], holds: Any, fails: Any) -> Decision:
        """Decide by whether the premises exclude that it fails, or that it holds."""
        follows = self._contradictory([*known, self._z3.Not(holds)])
        against = self._contradictory([*known, self._z3.Not(fails)])
        if follows and against:
            return Decision("unknown", "the premises contradict each other")
        if follows or against:
            return Decision("true" if follows else "false")
        reason = "the solver gave up" if self._gave_up else "neither it nor its negation follows"
        return Decision("unknown", reason)

    def _consistent_with(self, known: list[Any], condition: Any) -> list[Any]:
        if not self._contradictory([*known, condition]):
            return known
        return [one for one in known if not self._contradictory([one, condition])]

    def _contradictory(self, formulas: Sequence[Any]) -> bool:
        if self._left <= 0:
            self._gave_up = True
            return False
        solver = self._z3.Solver(ctx=self._context)
        before = _spent(solver)
        solver.set("rlimit", self._left)
        solver.add(*formulas)
        answer = solver.check()
        self._left -= _spent(solver) - before
        self._gave_up = self._gave_up or answer == self._z3.unknown
        return bool(answer == self._z3.unsat)

    def _new_thing(self, name: str) -> Any:
        self._variables += 1
        return self._z3.Const(f"{name}#{self._variables}", self._thing)

    def _formula(self, formula: Formula, things: dict[str, Any]) -> Any:
        z3 = self._z3
        if isinstance(formula, Atom):
            terms = [self._term(term, things) for term in formula.terms]
            if formula.name == "=":
                return terms[0] == terms[1]
            return self._symbol("says", formula.name, len(terms))(*terms)
        if isinstance(formula, Not):
            return z3.Not(self._formula(formula.part, things))
        if isinstance(formula, Binary):
            left, right = self._formula(formula.left, things), self._formula(formula.right, things)
            joins = {
                "and": z3.And,
                "or": z3.Or,
                "xor": z3.Xor,
                "implies": z3.Implies,
                "iff": lambda one, other: one == other,
            }
            return joins[formula.by](left, right)
        thing = self._new_thing(formula.variable)
        part = self._formula(formula.part, {**things, formula.variable: thing})
        return (z3.ForAll if formula.quantifier == "all" else z3.Exists)([thing], part)

    def _term(self, term: Term, things: dict[str, Any]) -> Any:
        if term.variable and term.name in things:
            return things[term.name]
        terms = [self._term(part, things) for part in term.of]
        return self._symbol("is", term.name, len(terms))(*terms)

    def _symbol(self, kind: str, name: str, arity: int) -> Any:
        """Return a predicate or a function; a name with another number of terms is another one."""
        key = (kind, name, arity)
        if key not in self._named:
            gives = self._z3.BoolSort(self._context) if kind == "says" else self._thing
            parts = [self._thing] * arity
            self._named[key] = self._z3.Function(f"{kind} {name}/{arity}", *parts, gives)
        return self._named[key]


def _spent(solver: Any) -> int:
    """Return the steps that a solver's context has used so far."""
    return int(solver.statistics().get_key_value("rlimit count"))
