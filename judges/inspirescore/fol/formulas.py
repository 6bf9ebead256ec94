"""Formulas as trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Connective = Literal["and", "or", "xor", "implies", "iff"]
Quantifier = Literal["all", "some"]


@dataclass(frozen=True)
class Term:
    """A variable, a constant, or a function of terms."""

    name: str
    of: tuple[Term, ...] = ()
    variable: bool = False


@dataclass(frozen=True)
class Atom:
    """A predicate of terms; `=` is the one predicate that means something."""

    name: str
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Not:
    """What holds where its part does not."""

    part: Formula


@dataclass(frozen=True)
class Joined:
    """Two formulas and what joins them."""

    by: Connective
    left: Formula
    right: Formula


@dataclass(frozen=True)
class Bound:
    """A formula said of all things, or of some."""

    quantifier: Quantifier
    variable: str
    part: Formula


Formula: TypeAlias = Atom | Not | Joined | Bound


def free(formula: Formula) -> frozenset[str]:
    """Return the variables that no quantifier binds."""
    if isinstance(formula, Atom):
        return frozenset(name for term in formula.terms for name in _variables(term))
    if isinstance(formula, Not):
        return free(formula.part)
    if isinstance(formula, Joined):
        return free(formula.left) | free(formula.right)
    return free(formula.part) - {formula.variable}


def _variables(term: Term) -> Iterator[str]:
    if term.variable:
        yield term.name
    for part in term.of:
        yield from _variables(part)


def closed(formula: Formula) -> Formula:
    """Return the formula with its free variables said of all things, as the paper's example is."""
    for name in sorted(free(formula), reverse=True):
        formula = Bound("all", name, formula)
    return formula


def shown(formula: Formula) -> str:
    """Return the formula as text, every join in brackets."""
    if isinstance(formula, Atom):
        if formula.name == "=":
            return f"{_said(formula.terms[0])} = {_said(formula.terms[1])}"
        return _applied(formula.name, formula.terms)
    if isinstance(formula, Not):
        return f"¬{_bracketed(formula.part)}"
    if isinstance(formula, Bound):
        sign = "∀" if formula.quantifier == "all" else "∃"
        return f"{sign}{formula.variable} {_outermost(formula.part)}"
    signs = {"and": "∧", "or": "∨", "xor": "⊕", "implies": "→", "iff": "↔"}
    return f"({_side(formula.left)} {signs[formula.by]} {_side(formula.right)})"


def _side(formula: Formula) -> str:
    """One side of a join, so that a quantifier in it ends where it does."""
    text = shown(formula)
    return f"({text})" if _binds(formula) else text


def _binds(formula: Formula) -> bool:
    return _binds(formula.part) if isinstance(formula, Not) else isinstance(formula, Bound)


def _bracketed(formula: Formula) -> str:
    text = shown(formula)
    return f"({text})" if isinstance(formula, Atom) and formula.name == "=" else text


def _outermost(formula: Formula) -> str:
    text = shown(formula)
    return text if isinstance(formula, Joined) else f"({text})"


def _said(term: Term) -> str:
    return _applied(term.name, term.of)


def _applied(name: str, terms: tuple[Term, ...]) -> str:
    return f"{name}({', '.join(map(_said, terms))})" if terms else name
