"""A parser of first-order formulas that were written by a language model, or by an enemy.

What binds tighter is what the paper says: negation, and, or (exclusive or behind it), implication,
equivalence. Implication leans right, the others left. A formula that could be read in two ways for
another reason, or is none, is unreadable; nothing is guessed, run or looked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from judges.inspirescore.fol.formulas import (
    Atom,
    Bound,
    Connective,
    Formula,
    Joined,
    Not,
    Term,
    closed,
)
from judges.inspirescore.fol.tokens import Token, Unreadable, tokens

DEEPEST: Final = 24
"""Formulas and terms within each other."""
MOST_TOKENS: Final = 300
_LEVELS: Final[tuple[Connective, ...]] = ("iff", "implies", "xor", "or", "and")
_LETTER: Final = re.compile(r"[u-z]\d{0,2}['’]{0,2}")
"""A name like this is a variable where nothing binds it: it is meant of all things."""
_END: Final = Token("end", "")


def read(text: str) -> Formula:
    """Return the formula, closed.

    Raises:
        Unreadable: It is none.
    """
    found = tokens(text)
    if len(found) > MOST_TOKENS:
        raise Unreadable(f"more than {MOST_TOKENS} signs and names")
    if not found:
        raise Unreadable("nothing is there")
    reader = _Reader(found)
    formula = reader.formula(0, 0)
    reader.expect("end")
    return closed(formula)


class _Reader:
    """Recursive descent, of a bounded depth."""

    def __init__(self, found: Sequence[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._bound: list[str] = []

    @property
    def _next(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _take(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def expect(self, kind: str) -> Token:
        """Take a token of this kind."""
        token = self._take()
        if token.kind != kind:
            raise Unreadable(f"expected {kind!r}, got {token.text or 'the end'!r}")
        return token

    def formula(self, level: int, depth: int) -> Formula:
        """Read a formula whose joins bind at least as tight as this level."""
        if depth > DEEPEST:
            raise Unreadable(f"more than {DEEPEST} deep")
        if level == len(_LEVELS):
            return self._unit(depth)
        by = _LEVELS[level]
        left = self.formula(level + 1, depth)
        while self._next.kind == by:
            self._take()
            if by == "implies":
                return Joined(by, left, self.formula(level, depth + 1))
            left = Joined(by, left, self.formula(level + 1, depth))
        return left

    def _unit(self, depth: int) -> Formula:
        kind = self._next.kind
        if kind == "not":
            self._take()
            return Not(self._nested(depth))
        if kind in ("all", "some"):
            return self._quantified(depth)
        if kind == "(":
            self._take()
            inner = self.formula(0, depth + 1)
            self.expect(")")
            return inner
        return self._atom(depth)

    def _nested(self, depth: int) -> Formula:
        if depth > DEEPEST:
            raise Unreadable(f"more than {DEEPEST} deep")
        return self._unit(depth + 1)

    def _quantified(self, depth: int) -> Formula:
        quantifier = self._take().kind
        names = [self.expect("name").text]
        while self._next.kind == ",":
            self._take()
            names.append(self.expect("name").text)
        if self._next.kind == ".":
            self._take()
        if depth + len(names) > DEEPEST:
            raise Unreadable(f"more than {DEEPEST} deep")
        self._bound += names
        reaches_far = self._next.kind not in ("(", "all", "some", "not") or self._named_later(names)
        part = self.formula(0, depth + 1) if reaches_far else self._nested(depth)
        del self._bound[-len(names) :]
        for name in reversed(names):
            part = Bound("all" if quantifier == "all" else "some", name, part)
        return part

    def _named_later(self, names: Sequence[str]) -> bool:
        """Whether a variable is named behind the bracket that its quantifier stands before.

        Then the bracket is not where the quantifier ends, whatever the rules say.
        """
        wanted = set(names)
        before, open_brackets, passed = "", 0, False
        for kind, text in self._tokens[self._at :]:
            open_brackets += (kind == "(") - (kind == ")")
            if open_brackets < 0:
                return False
            if kind == "name" and before in ("all", "some"):
                wanted.discard(text)
            elif passed and kind == "name" and text in wanted:
                return True
            passed = passed or (open_brackets == 0 and kind == ")")
            before = kind
        return False

    def _atom(self, depth: int) -> Formula:
        token = self._next
        term = self._term(depth)
        if self._next.kind not in ("=", "differs"):
            if term.variable or token.text[0].isdigit():
                raise Unreadable(f"{token.text!r} is a thing and says nothing")
            return Atom(term.name, term.of)
        differs = self._take().kind == "differs"
        same = Atom("=", (term, self._term(depth)))
        return Not(same) if differs else same

    def _term(self, depth: int) -> Term:
        if depth > DEEPEST:
            raise Unreadable(f"more than {DEEPEST} deep")
        name = self.expect("name").text
        if self._next.kind != "(":
            return Term(name, variable=name in self._bound or bool(_LETTER.fullmatch(name)))
        self._take()
        parts = [self._term(depth + 1)]
        while self._next.kind == ",":
            self._take()
            parts.append(self._term(depth + 1))
        self.expect(")")
        return Term(name, tuple(parts))
